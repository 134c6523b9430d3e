import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { requireRepository, withAbsoluteLinks, writeManifestAndPages } from "../lib/published-folder.ts";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { readManifest, root } from "../lib/workspace.ts";

describe("withAbsoluteLinks()", () => {
  const home = {
    url: "https://example.com/holdfast",
    tag: "@holdfast/core@1.2.3",
    workspace: root,
    directory: join(root, "packages/core"),
  };
  const base = "https://example.com/holdfast/blob/@holdfast/core@1.2.3";

  it("replaces relative links by links to the repository at the tag of the release", () => {
    expect(withAbsoluteLinks("[a](../redis/README.md#b) and\n[c](./README.md)", home)).toBe(
      `[a](${base}/packages/redis/README.md#b) and\n[c](${base}/packages/core/README.md)`,
    );
    expect(withAbsoluteLinks("![a][b]\n\n[b]: ../../LICENSE", home)).toBe(`![a][b]\n\n[b]: ${base}/LICENSE`);
  });

  it("keeps other links, and code", () => {
    const page = "[a](https://example.org) [b](#c) `[d](./e.md)`";
    expect(withAbsoluteLinks(page, home)).toBe(page);
  });

  it("throws when the target of a link does not exist", () => {
    expect(() => withAbsoluteLinks("[a](./nowhere.md)", home)).toThrow(
      "a page of packages/core links to packages/core/nowhere.md, which does not exist",
    );
  });
});

describe("requireRepository()", () => {
  it("rejects until the package.json of the workspace has the address", async () => {
    await inWorkspace({}, (workspace) =>
      expect(requireRepository(workspace)).rejects.toThrow('add "repository": "https://…" to the package.json'),
    );
  });

  it("rejects an address that is not a web page", async () => {
    await inWorkspace({ repository: "git@example.com:holdfast" }, (workspace) =>
      expect(requireRepository(workspace)).rejects.toThrow("must look like"),
    );
  });

  it("returns the address of the page, with or without .git", async () => {
    for (const repository of ["https://example.com/a/b.git", "https://example.com/a/b", "https://example.com/a/b/"]) {
      await inWorkspace({ repository }, async (workspace) =>
        expect(await requireRepository(workspace)).toBe("https://example.com/a/b"),
      );
    }
  });
});

describe("writeManifestAndPages()", () => {
  const manifest = {
    name: "a",
    version: "1.0.0",
    keywords: ["k"],
    exports: {
      ".": {
        "@holdfast/source": "./src/index.ts",
        require: "./dist/package/index.js",
        default: "./dist/package/esm/index.js",
      },
    },
    bin: { b: "./src/main.ts" },
    man: ["./b.1"],
    scripts: { test: "c" },
    devDependencies: { d: "1" },
  };

  it("writes the manifest that users see", async () => {
    await inWorkspace({ repository: "https://example.com/r.git" }, async (workspace) => {
      expect(await publishedManifest(workspace)).toEqual({
        name: "a",
        version: "1.0.0",
        keywords: ["common", "k"],
        homepage: "https://example.com/r/tree/a@1.0.0/packages/a#readme",
        repository: { type: "git", url: "git+https://example.com/r.git", directory: "packages/a" },
        bugs: { url: "https://example.com/r/issues" },
        type: "commonjs",
        main: "./index.js",
        types: "./index.d.ts",
        exports: { ".": { require: "./index.js", default: "./esm/index.js" } },
        bin: { b: "./esm/main.js" },
        man: ["./b.1"],
        publishConfig: { access: "public" },
      });
      expect(await readFile(join(workspace, "packages/a/dist/package/b.1"), "utf8")).toBe(".TH B 1\n");
    });
  });

  it("writes that a package without a main entry is CommonJS, too, if it can be required", async () => {
    const { bin: _, ...library } = { ...manifest, exports: { "./a": manifest.exports["."] } };
    await inWorkspace({}, async (workspace) => {
      const written = await publishedManifest(workspace, library);
      expect(written).toMatchObject({ type: "commonjs", exports: { "./a": { require: "./index.js" } } });
      expect(written).not.toHaveProperty("main");
    });
  });

  it("writes a private manifest while the repository has no address", async () => {
    await inWorkspace({}, async (workspace) => {
      expect(await publishedManifest(workspace)).toMatchObject({ private: true });
    });
  });

  async function publishedManifest(workspace: string, source: object = manifest): Promise<object> {
    const directory = join(workspace, "packages/a");
    await mkdir(join(directory, "dist/package"), { recursive: true });
    await writeFile(join(directory, "package.json"), JSON.stringify(source));
    await writeFile(join(directory, "b.1"), ".TH B 1\n");
    await writeManifestAndPages(directory, workspace);
    return readManifest(join(directory, "dist/package"));
  }
});

async function inWorkspace(fields: object, use: (workspace: string) => Promise<unknown>): Promise<void> {
  await withTemporaryFolder(async (workspace) => {
    await writeFile(join(workspace, "package.json"), JSON.stringify({ keywords: ["common"], ...fields }));
    await use(workspace);
  });
}
