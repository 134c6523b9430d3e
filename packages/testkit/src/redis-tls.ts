import { createCertificate } from "./certificate.ts";
import { freePort } from "./free-port.ts";

/** The TLS endpoint of a server. */
export interface TlsEndpoint {
  readonly port: number;
  /** The certificate to trust, as PEM. It is self-signed. */
  readonly ca: string;
}

/** Creates a certificate for 127.0.0.1 in the server's directory, and returns the arguments that make the server use it. */
export async function tlsEndpoint(directory: string): Promise<{ endpoint: TlsEndpoint; args: string[] }> {
  const { cert, certPath, keyPath } = await createCertificate(directory);
  const port = await freePort();
  const files = ["--tls-cert-file", certPath, "--tls-key-file", keyPath, "--tls-ca-cert-file", certPath];
  return { endpoint: { port, ca: cert }, args: ["--tls-port", String(port), ...files, "--tls-auth-clients", "no"] };
}
