/** The state of the playground: which run is shown, and at which moment. */
import {
  type ComputedRef,
  computed,
  onBeforeUnmount,
  onMounted,
  type Ref,
  ref,
  type ShallowRef,
  shallowRef,
  watch,
} from "vue";
import { type Address, readAddress, type Subject, writeAddress } from "./address.ts";
import { type Caption, captionText } from "./captions.ts";
import { type PlayFault, wholeMicroseconds } from "./free-play.ts";
import { describeMoment, type Moment, momentAt, steps } from "./moment.ts";
import { type PaceName, startPlaying } from "./player.ts";
import { introOf, readingScale } from "./reading.ts";
import { startSimulator } from "./simulator.ts";
import { storyTexts } from "./story-texts.ts";
import { lastIndexUpTo, type TimeScale, timeScale } from "./time-scale.ts";
import type { PlayedRun } from "./worker.ts";

/** What the views show, and what the reader may do. */
export interface Session {
  /** The run that is asked for. */
  readonly address: Readonly<ShallowRef<Address>>;
  /** Why the address of the page names no run, or why the run failed. */
  readonly error: Readonly<Ref<string | undefined>>;
  /** The recorded run; undefined until it has been simulated. */
  readonly run: Readonly<ShallowRef<PlayedRun | undefined>>;
  /** Whether `run` is not yet the run that is asked for. */
  readonly isBusy: Readonly<Ref<boolean>>;
  /** The moments at which something happens. */
  readonly steps: ComputedRef<readonly number[]>;
  /** The line of time. */
  readonly scale: ComputedRef<TimeScale>;
  /** The cursor, in milliseconds. */
  readonly atMs: Readonly<Ref<number>>;
  /** The picture at the cursor. */
  readonly moment: ComputedRef<Moment | undefined>;
  /** The sentence at the cursor: what happens, and why it matters. */
  readonly caption: ComputedRef<string>;
  /** Whether time runs. */
  readonly isPlaying: Readonly<Ref<boolean>>;
  /** How fast it runs. */
  readonly pace: Ref<PaceName>;
  /** What screen readers say: each sentence of a story while it plays, and the picture after the reader has moved the cursor. */
  readonly said: Readonly<Ref<string>>;
  /** Shows another run from its start. */
  open(subject: Subject): void;
  /** Changes the faults that the reader has added. Resolves when the new run is shown. */
  change(faults: readonly PlayFault[]): Promise<void>;
  /** Moves the cursor to a moment. */
  seek(atMs: number): void;
  /** Moves the cursor to the next moments at which something happens, or the ones before. */
  step(by: number): void;
  /** Lets time run, or stops it. */
  toggle(): void;
  /** Writes the state into the address of the page at once, and returns the whole address. */
  link(): string;
}

/** How often the address of the page may change while time runs: browsers limit it. */
const addressEveryMs = 500;

const firstAddress: Address = { subject: { kind: "story", id: storyTexts[0]?.id ?? "" }, faults: [], atMs: undefined };

/**
 * Creates the state of a mounted page. On a server it stays at the start of the first story, without a run.
 *
 * @param story the story to show on a page whose address says nothing about a run
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a composable is a list of functions that share its state
export function useSession(story?: string): Session {
  const address = shallowRef<Address>(firstAddress);
  const error = ref<string>();
  const run = shallowRef<PlayedRun>();
  const isBusy = ref(true);
  const atMs = ref(0);
  const pace = ref<PaceName>("as you read");
  const said = ref("");
  const stopPlaying = shallowRef<() => void>();
  const stepList = computed(() => (run.value === undefined ? [0] : steps(run.value.trace)));
  const scale = computed(() => timeScale(stepList.value));
  const moment = computed(() => run.value && momentAt(run.value.trace, atMs.value));
  const captions = computed<readonly Caption[]>(() => [
    { fromMs: 0, text: introOf(address.value.subject) },
    ...(run.value?.captions ?? []),
  ]);
  const captionTimes = computed(() => captions.value.map(({ fromMs }) => fromMs));
  const captionNow = computed(() => captions.value[lastIndexUpTo(captionTimes.value, atMs.value)]);
  const caption = computed(() => (captionNow.value === undefined ? "" : captionText(captionNow.value, atMs.value)));
  const isRead = computed(() => pace.value === "as you read");
  const paceScale = computed(() => (isRead.value ? readingScale(stepList.value, captions.value) : scale.value));
  const stops = computed(() => (isRead.value ? captionTimes.value : stepList.value));
  const bar = story === undefined ? addressBar(hashNow, load) : noAddressBar;
  let simulator: ReturnType<typeof startSimulator> | undefined;
  let unreadable: string | undefined;

  /** Simulates the run of an address. Only the latest one is shown. */
  async function simulate(wanted: Address): Promise<void> {
    [address.value, isBusy.value, error.value, unreadable] = [wanted, true, undefined, undefined];
    const isWanted = (): boolean => address.value === wanted && unreadable === undefined;
    try {
      simulator ??= startSimulator(() => {
        simulator = undefined;
      });
      const seen = await simulator.simulate(wanted);
      if (!isWanted()) return;
      stop();
      [run.value, isBusy.value] = [seen, false];
      atMs.value = Math.min(wanted.atMs ?? 0, seen.trace.endedAtMs);
    } catch (cause) {
      if (isWanted()) fail(`The run failed: ${cause instanceof Error ? cause.message : cause}.`);
    }
  }

  function fail(message: string): void {
    stop();
    [run.value, isBusy.value, error.value] = [undefined, false, message];
  }

  /** Shows what the address of the page names. */
  function load(hash: string): void {
    stop();
    said.value = "";
    const parsed = readAddress(hash);
    if ("error" in parsed) {
      unreadable = hash;
      fail(parsed.error);
    } else void simulate(parsed);
  }

  /** Returns what the address of the page should have after `#`: as it is, if it cannot be read. */
  function hashNow(): string {
    return unreadable ?? writeAddress({ ...address.value, atMs: atMs.value || undefined });
  }

  function stop(): void {
    stopPlaying.value?.();
    stopPlaying.value = undefined;
  }

  function move(to: number): void {
    atMs.value = Math.min(Math.max(0, to), stepList.value.at(-1) ?? 0);
    bar.update();
  }

  function say(): void {
    said.value = moment.value === undefined ? "" : describeMoment(moment.value);
  }

  function seek(to: number): void {
    stop();
    move(to);
    say();
  }

  function step(by: number): void {
    const list = stepList.value;
    const index = lastIndexUpTo(list, atMs.value);
    const isBetween = atMs.value > (list[index] ?? 0);
    seek(list[Math.min(Math.max(0, index + by + (by < 0 && isBetween ? 1 : 0)), list.length - 1)] ?? 0);
  }

  function open(subject: Subject): void {
    stop();
    [atMs.value, said.value] = [0, ""];
    void simulate({ subject, faults: [], atMs: undefined });
    bar.push();
  }

  async function change(faults: readonly PlayFault[]): Promise<void> {
    stop();
    // The address keeps whole microseconds: the cursor moves to where the fault strikes.
    atMs.value = wholeMicroseconds(atMs.value);
    const simulated = simulate({ ...address.value, faults, atMs: atMs.value });
    bar.push();
    await simulated;
    say();
  }

  function toggle(): void {
    if (stopPlaying.value !== undefined || run.value === undefined) {
      stop();
      bar.flush();
      say();
      return;
    }
    const end = stepList.value.at(-1) ?? 0;
    if (atMs.value >= end) move(0);
    stopPlaying.value = startPlaying({
      pace: () => pace.value,
      scale: () => paceScale.value,
      atMs: () => atMs.value,
      next: (fromMs) => stops.value[lastIndexUpTo(stops.value, fromMs) + 1] ?? end,
      move: (to) => {
        move(to);
        if (to < end) return;
        stop();
        if (!isRead.value) say();
      },
    });
  }

  // At other paces, there are too many sentences to say.
  watch(captionNow, () => {
    if (stopPlaying.value !== undefined && isRead.value) said.value = caption.value;
  });
  onMounted(() => {
    bar.listen();
    load(story === undefined ? location.hash : `#story=${story}`);
  });
  onBeforeUnmount(() => {
    stop();
    bar.close();
    simulator?.close();
  });
  return {
    ...{ address, error, run, isBusy, steps: stepList, scale, atMs, moment, caption, pace, said },
    isPlaying: computed(() => stopPlaying.value !== undefined),
    ...{ open, change, seek, step, toggle, link: bar.flush },
  };
}

/** Stands for the address of a page that does not follow the state. */
const noAddressBar = { listen() {}, update() {}, flush: (): string => location.href, push() {}, close() {} };

/** The address of the page: it follows the state, and the state follows it when the reader goes back, or enters another. */
function addressBar(hashNow: () => string, load: (hash: string) => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let path = "";
  const stopTimer = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  // While the reader leaves, this page is still shown, and the address is already that of the next one.
  const isHere = (): boolean => location.pathname === path;
  const follow = (): void => {
    if (!isHere() || location.hash === hashNow()) return;
    stopTimer();
    load(location.hash);
  };
  /** Writes the state now, and returns the whole address. */
  const flush = (): string => {
    stopTimer();
    // The router of the site keeps its own notes in the state.
    if (isHere() && location.hash !== hashNow()) history.replaceState(history.state, "", hashNow());
    return location.href;
  };
  return {
    /** Starts to follow. */
    listen(): void {
      path = location.pathname;
      window.addEventListener("popstate", follow);
      window.addEventListener("hashchange", follow);
    },
    /** Writes the state soon. */
    update(): void {
      timer ??= setTimeout(flush, addressEveryMs);
    },
    flush,
    /** Writes it as a new entry of the browser's history. */
    push(): void {
      stopTimer();
      const state = { scrollPosition: window.scrollY };
      history.replaceState(state, "");
      history.pushState(state, "", hashNow());
    },
    /** Stops to follow. */
    close(): void {
      stopTimer();
      window.removeEventListener("popstate", follow);
      window.removeEventListener("hashchange", follow);
    },
  };
}
