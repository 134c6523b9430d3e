/*
 * Maps all states that differ only in names to one state.
 *
 * Fences are only compared, never computed with, so only their order matters: those in use become 2, 4, 6, …, which
 * leaves a number in each gap, and 0 for none. Nodes of the same sets differ only in their state, so they are sorted.
 */
#ifndef EXTENDED
#define EACH_OTHER_FENCE(DO)
#define SETS_OF(node) 0
#define OTHER_STATE(node) 0
#endif

#define EACH_FENCE(DO) \
  for (n = 0; n < NODES; n++) DO(now.node[n].counter); \
  for (c = 0; c < CLIENTS; c++) { \
    DO(now.client[c].token); \
    for (n = 0; n < NODES; n++) DO(now.client[c].heard[n]); \
    for (n = 0; n < PROPOSALS; n++) DO(now.client[c].proposed[n]); \
  } \
  EACH_OTHER_FENCE(DO)

#ifdef WITHOUT_TOKENS
#define NEXT_RANK (last = 1)
#else
#define NEXT_RANK (last += 2)
#endif

static void rankFences(void)
{
  unsigned char rank[256] = { 0 }, last = 0;
  int c, n, fence;
#define USE(fence) rank[fence] = 1
#define RANK(fence) fence = rank[fence]
  EACH_FENCE(USE)
  rank[0] = 0;
  for (fence = 1; fence <= now.top; fence++) if (rank[fence]) rank[fence] = NEXT_RANK;
  EACH_FENCE(RANK)
  now.top = last + 1;
}

/* Nodes of the same sets are neighbours. */
static int compareNodes(int a, int b)
{
  int c, order = now.node[a].holders - now.node[b].holders;
  if (SETS_OF(a) != SETS_OF(b)) return -1;
  if (!order) order = OTHER_STATE(a) - OTHER_STATE(b);
  if (!order) order = now.node[a].counter - now.node[b].counter;
  for (c = 0; c < CLIENTS && !order; c++) order = now.client[c].heard[a] - now.client[c].heard[b];
#ifdef SEVERAL
  for (c = 0; c < CLIENTS && !order; c++) order = now.client[c].doubted[a] - now.client[c].doubted[b];
#endif
  return order;
}

static void swapNodes(int a, int b)
{
  unsigned char heard;
#ifdef SEVERAL
  unsigned char doubted;
#endif
  int c;
  struct Node node = now.node[a];
  now.node[a] = now.node[b];
  now.node[b] = node;
  for (c = 0; c < CLIENTS; c++) {
    heard = now.client[c].heard[a];
    now.client[c].heard[a] = now.client[c].heard[b];
    now.client[c].heard[b] = heard;
#ifdef SEVERAL
    doubted = now.client[c].doubted[a];
    now.client[c].doubted[a] = now.client[c].doubted[b];
    now.client[c].doubted[b] = doubted;
#endif
  }
}

static void canonical(void)
{
  int sorted, n;
  rankFences();
  for (sorted = 1; sorted < NODES; sorted++)
    for (n = sorted; n > 0 && compareNodes(n - 1, n) > 0; n--) swapNodes(n - 1, n);
}
