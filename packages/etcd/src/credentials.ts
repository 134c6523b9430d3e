import type { ChannelCredentials } from "@grpc/grpc-js";

/**
 * Returns credentials whose connections end with their channel. grpc-js (1.14.7) connects again after its back-off even
 * if the channel was closed meanwhile, and nothing closes that connection.
 */
export function endingWithChannel(credentials: ChannelCredentials): ChannelCredentials {
  const ending = Object.create(credentials) as ChannelCredentials;
  ending._createSecureConnector = (...target) => {
    const connector = credentials._createSecureConnector(...target);
    let isDestroyed = false;
    return {
      async waitForReady() {
        if (isDestroyed) throw new Error("the channel is closed");
        await connector.waitForReady();
      },
      connect: (socket) => connector.connect(socket),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy() {
        isDestroyed = true;
        connector.destroy();
      },
    };
  };
  return ending;
}
