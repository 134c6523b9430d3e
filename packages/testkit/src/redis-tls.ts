import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "./free-port.ts";

/** The TLS endpoint of a server. */
export interface TlsEndpoint {
  readonly port: number;
  /** The certificate to trust, as PEM. It is self-signed. */
  readonly ca: string;
}

/** Creates a certificate for 127.0.0.1 in the server's directory, and returns the arguments that make the server use it. */
export async function tlsEndpoint(directory: string): Promise<{ endpoint: TlsEndpoint; args: string[] }> {
  const { generate } = await import("selfsigned"); // which takes longer to load than all else that starts a server
  const { cert, private: key } = await generate([{ name: "commonName", value: "127.0.0.1" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }],
  });
  const [certPath, keyPath] = [join(directory, "tls.crt"), join(directory, "tls.key")];
  await Promise.all([writeFile(certPath, cert), writeFile(keyPath, key, { mode: 0o600 })]);
  const port = await freePort();
  const files = ["--tls-cert-file", certPath, "--tls-key-file", keyPath, "--tls-ca-cert-file", certPath];
  return { endpoint: { port, ca: cert }, args: ["--tls-port", String(port), ...files, "--tls-auth-clients", "no"] };
}
