/** A client over which nodes are created. */
interface Client<Options, Node> {
  openNode(options: Options): Node;
  close(): unknown;
}

/** Two clients, and the proxy between them and the server. */
interface Connections<Options, Node, Proxy> {
  readonly clients: readonly [Client<Options, Node>, Client<Options, Node>];
  readonly proxy?: Proxy;
}

/** What a proxy that tests may stop has at least. */
interface StoppableProxy {
  stop(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens subjects of the conformance suite whose nodes are new and whose connections served earlier tests, unless one of
 * these has cut them: connecting takes longer than most tests.
 *
 * @param connect opens connections
 * @returns a function that opens a subject, and one that ends the connections that no subject uses
 */
export function reusedConnections<Options, Node extends { close(): unknown }, Proxy extends StoppableProxy>(
  connect: () => Promise<Connections<Options, Node, Proxy>>,
) {
  const unused: Connections<Options, Node, Proxy>[] = [];
  const end = async ({ clients, proxy }: Connections<Options, Node, Proxy>): Promise<void> => {
    await Promise.all(clients.map((client) => client.close()));
    await proxy?.close();
  };
  return {
    async open(options: Options) {
      const own = unused.pop() ?? (await connect());
      const { clients, proxy } = own;
      const [node, rival] = [clients[0].openNode(options), clients[1].openNode(options)];
      let isReusable = true;
      const stop = async (): Promise<void> => {
        isReusable = false;
        await proxy?.stop();
      };
      return {
        node,
        rival,
        ...(proxy && { server: { ...proxy, stop } }),
        async close(): Promise<void> {
          await Promise.all([node.close(), rival.close()]);
          if (isReusable) unused.push(own);
          else await end(own);
        },
      };
    },
    async close(): Promise<void> {
      await Promise.all(unused.splice(0).map(end));
    },
  };
}
