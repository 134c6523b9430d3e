/** The state of the playground: which run is shown, and at which moment. */
import { computed, onBeforeUnmount, onMounted, ref, shallowRef, watch } from "vue";
import { type Address, type Deed, readAddress, writeAddress } from "./address.ts";
import { captionText, sentenceAt } from "./captions.ts";
import { describeMoment } from "./cards.ts";
import { momentAt, steps as stepsOf } from "./moment.ts";
import type { PlayedRun } from "./play.ts";
import { startPlaying } from "./player.ts";
import { type Simulation, startSimulation } from "./simulator.ts";
import { storyTexts } from "./story-texts.ts";
import { timeScale } from "./time-scale.ts";

/** How often the address of the page may change while time runs: browsers limit it. */
const addressEveryMs = 500;

/** What the views show, and what the reader may do. */
export type Session = ReturnType<typeof useSession>;

/**
 * Creates the state of a mounted page. On a server it stays at the start of the first story, without a run.
 *
 * @param story the story to show on a page whose address says nothing about a run
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a composable is a list of functions that share its state
export function useSession(story?: string) {
  /** The run that is asked for. */
  const address = shallowRef<Address>(readAddress(""));
  /** Why there is no run. */
  const error = ref<string>();
  /** The recorded run; undefined until it has been simulated. */
  const run = shallowRef<PlayedRun>();
  /** Whether `run` is not yet the run that is asked for. */
  const isBusy = ref(true);
  /** The cursor, in milliseconds. */
  const atMs = ref(0);
  /** What screen readers say: each sentence while the run plays, and the picture after the reader has moved the cursor. */
  const said = ref("");
  /** The moments at which something happens. */
  const steps = computed(() => (run.value === undefined ? [0] : stepsOf(run.value.trace)));
  /** The line of time. */
  const scale = computed(() => timeScale(steps.value));
  /** The picture at the cursor. */
  const moment = computed(() => run.value && momentAt(run.value.trace, atMs.value));
  const captions = computed(() => {
    const text = storyTexts.find(({ id }) => id === address.value.story)?.line ?? "";
    return [{ fromMs: 0, text }, ...(run.value?.captions ?? [])];
  });
  const captionNow = computed(() => captions.value.findLast(({ fromMs }) => fromMs <= atMs.value));
  /** The sentence at the cursor: what happens, and why it matters. */
  const caption = computed(() => (captionNow.value === undefined ? "" : captionText(captionNow.value, atMs.value)));
  const stopPlaying = shallowRef<() => void>();
  /** Whether time runs. */
  const isPlaying = computed(() => stopPlaying.value !== undefined);
  const bar = addressBar(() => writeAddress({ ...address.value, atMs: atMs.value }), load);
  let simulation: Simulation | undefined;

  /** Simulates the run of an address, instead of one that is not shown yet. */
  async function simulate(wanted: Address): Promise<void> {
    stop();
    [address.value, isBusy.value, error.value] = [wanted, true, undefined];
    simulation?.end();
    simulation = startSimulation(wanted);
    try {
      const seen = await simulation.run;
      stop();
      run.value = seen;
      atMs.value = Math.min(wanted.atMs, seen.trace.endedAtMs);
    } catch (cause) {
      stop();
      run.value = undefined;
      error.value = `The run failed: ${cause instanceof Error ? cause.message : cause}.`;
    }
    isBusy.value = false;
  }

  /** Shows what the address of the page names. */
  function load(hash: string): void {
    said.value = "";
    void simulate(readAddress(hash));
  }

  function stop(): void {
    stopPlaying.value?.();
    stopPlaying.value = undefined;
  }

  function move(to: number): void {
    atMs.value = Math.min(Math.max(0, to), steps.value.at(-1) ?? 0);
    bar.update();
  }

  function say(): void {
    said.value = moment.value === undefined ? "" : describeMoment(moment.value);
  }

  /** Moves the cursor to a moment. */
  function seek(to: number): void {
    stop();
    move(to);
    say();
  }

  /** Moves the cursor to the next moment at which something happens, or to the one before. */
  function step(by: 1 | -1): void {
    const list = steps.value;
    const next = by > 0 ? list.find((each) => each > atMs.value) : list.findLast((each) => each < atMs.value);
    if (next !== undefined) seek(next);
  }

  /** Shows a story from its start. */
  function open(id: string): void {
    [atMs.value, said.value] = [0, ""];
    void simulate({ story: id, deeds: [], atMs: 0 });
    bar.push();
  }

  /** Changes what the reader has done. Resolves when the new run is shown. */
  async function change(deeds: readonly Deed[]): Promise<void> {
    const simulated = simulate({ ...address.value, deeds, atMs: atMs.value });
    bar.push();
    await simulated;
    say();
  }

  /** Lets time run, or stops it. */
  function toggle(): void {
    if (isPlaying.value || run.value === undefined) {
      stop();
      say();
      return;
    }
    const end = run.value.trace.endedAtMs;
    if (atMs.value >= end) move(0);
    stopPlaying.value = startPlaying({
      scale: () => scale.value,
      atMs: () => atMs.value,
      sentenceAt: (ms) => sentenceAt(captions.value, end, ms),
      move: (to) => {
        move(to);
        if (to >= end) stop();
      },
    });
  }

  watch(captionNow, () => {
    if (isPlaying.value) said.value = caption.value;
  });
  onMounted(() => {
    if (story === undefined) bar.listen();
    load(story === undefined ? location.hash : `#story=${story}`);
  });
  onBeforeUnmount(() => {
    stop();
    bar.close();
    simulation?.end();
  });
  return {
    ...{ address, error, run, isBusy, steps, scale, atMs, moment, caption, isPlaying, said },
    ...{ open, change, seek, step, toggle },
  };
}

/**
 * The address of the page. Once it listens, it follows the state, and the state follows it when the reader goes back, or
 * enters another.
 */
function addressBar(hashNow: () => string, load: (hash: string) => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let path: string | undefined;
  /** The last address that was read or written. */
  let known: string | undefined;
  // While the reader leaves, this page is still shown, and the address is already that of the next one.
  const isHere = (): boolean => location.pathname === path;
  const stopTimer = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  const follow = (): void => {
    if (!isHere() || location.hash === known) return;
    stopTimer();
    known = location.hash;
    load(known);
  };
  /** Writes the state now. The router of the site keeps notes of its own in the browser's history. */
  const write = (): void => {
    stopTimer();
    if (!isHere()) return;
    known = hashNow();
    history.replaceState(history.state, "", known);
  };
  return {
    /** Starts to follow. */
    listen(): void {
      path = location.pathname;
      known = location.hash;
      window.addEventListener("popstate", follow);
      window.addEventListener("hashchange", follow);
    },
    /** Writes the state soon. */
    update(): void {
      timer ??= setTimeout(write, addressEveryMs);
    },
    /** Writes it as a new entry of the browser's history. */
    push(): void {
      stopTimer();
      known = hashNow();
      const state = { scrollPosition: window.scrollY };
      history.replaceState(state, "");
      history.pushState(state, "", known);
    },
    /** Stops to follow. */
    close(): void {
      stopTimer();
      window.removeEventListener("popstate", follow);
      window.removeEventListener("hashchange", follow);
    },
  };
}
