import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Creates a self-signed certificate for 127.0.0.1 and its key, as PEM, and the files that contain them, in this directory. */
export async function createCertificate(directory: string) {
  const { generate } = await import("selfsigned"); // which takes longer to load than all else that starts a server
  const { cert, private: key } = await generate([{ name: "commonName", value: "127.0.0.1" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }],
  });
  const [certPath, keyPath] = [join(directory, "tls.crt"), join(directory, "tls.key")];
  await Promise.all([writeFile(certPath, cert), writeFile(keyPath, key, { mode: 0o600 })]);
  return { cert, key, certPath, keyPath };
}
