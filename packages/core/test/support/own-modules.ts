/**
 * Gives each test file its own modules. Core draws random bytes ahead, so that seeded tests would otherwise depend on
 * the files before them.
 */
import { vi } from "vitest";

vi.resetModules();
