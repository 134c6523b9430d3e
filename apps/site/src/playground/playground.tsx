/** The page on which a reader sees what distributed locks promise. */
import "./playground.css";
import { Content } from "vitepress";
import { type DefineSetupFnComponent, defineComponent, nextTick, ref, type VNode, watch } from "vue";
import { FaultList, FaultsPanel } from "./faults.tsx";
import { outcomeOf } from "./outcome.ts";
import { Picture } from "./picture.tsx";
import { prefersLessMotion } from "./player.ts";
import { type Session, useSession } from "./session.ts";
import { storyTexts } from "./story-texts.ts";
import { lastIndexUpTo } from "./time-scale.ts";
import { Timeline } from "./timeline.tsx";
import { ms } from "./words.ts";

/** The playground. */
const Playground: DefineSetupFnComponent<object> = defineComponent(() => {
  const session = useSession();
  const target = ref<string>();
  const root = ref<HTMLElement>();
  watch(
    () => session.address.value.story,
    () => {
      target.value = undefined;
    },
  );
  /** Opens the faults of a node or client, or closes them, and takes the focus along. */
  async function choose(name: string | undefined): Promise<void> {
    const previous = target.value;
    target.value = name === previous ? undefined : name;
    await nextTick();
    const selector = target.value === undefined ? `[data-faults-of="${previous}"]` : "#pg-faults-title";
    root.value?.querySelector<HTMLElement>(selector)?.focus();
  }
  /** Shows the whole picture while time runs. */
  function play(): void {
    session.toggle();
    const behavior = prefersLessMotion() ? "instant" : "smooth";
    if (session.isPlaying.value) root.value?.scrollIntoView({ block: "start", behavior });
  }
  return () => {
    const { run, moment, isBusy, error } = session;
    return (
      <main
        class="playground"
        ref={root}
        data-playground
        data-state={error.value !== undefined ? "failed" : isBusy.value ? "busy" : "ready"}
      >
        <header>
          <Content class="lead" />
          <Stories session={session} />
        </header>
        {/* A browser that runs scripts has a text in it, no element: it must not be compared. */}
        <noscript innerHTML='The playground needs JavaScript. <a href="/guarantees">Guarantees</a> says it in words.' />
        {error.value === undefined ? (
          <>
            <Clock session={session} play={play} />
            <p class="caption" data-caption>
              {session.caption.value}
            </p>
          </>
        ) : (
          <div class="notice bad" role="alert" data-error>
            <p>{error.value}</p>
            <button type="button" onClick={() => session.open(storyTexts[0]?.id ?? "")}>
              Open the first story
            </button>
          </div>
        )}
        <p class="visually-hidden" role="status" data-said>
          {session.said.value}
        </p>
        {run.value && moment.value && (
          <>
            <Picture
              key={run.value.trace.clients.length}
              trace={run.value.trace}
              moment={moment.value}
              target={target.value}
              choose={choose}
            />
            {target.value !== undefined && (
              <FaultsPanel session={session} target={target.value} close={() => choose(undefined)} />
            )}
            {moment.value.atMs >= run.value.trace.endedAtMs && (
              <p class="outcome" data-outcome>
                <b>What happened:</b> {outcomeOf(run.value)}
              </p>
            )}
            <Legend />
            <section aria-labelledby="pg-timeline">
              <h2 id="pg-timeline">Timeline</h2>
              <Timeline session={session} />
            </section>
            <FaultList session={session} />
          </>
        )}
      </main>
    );
  };
});

export default Playground;

interface SessionProps {
  readonly session: Session;
}

/** The stories, each with a line that says what it is about. */
function Stories({ session: { address, open } }: SessionProps): VNode {
  return (
    <label class="stories">
      <span>Story</span>
      <select
        data-stories
        value={address.value.story}
        onChange={({ target }) => open((target as HTMLSelectElement).value)}
      >
        {storyTexts.map(({ id, title, line }) => (
          <option key={id} value={id}>
            {title}: {line}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The clock in the reader's hand. */
function Clock({ session, play }: SessionProps & { readonly play: () => void }): VNode {
  const { atMs, steps, isPlaying, step, seek } = session;
  const last = steps.value.length - 1;
  const isReady = session.run.value !== undefined;
  const button = (name: string, shape: string, act: () => void, isPossible = true): VNode => (
    <button type="button" aria-label={name} title={name} disabled={!isReady} aria-disabled={!isPossible} onClick={act}>
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
        <path d={shape} fill="currentColor" />
      </svg>
    </button>
  );
  return (
    <section class="clock" aria-label="Time">
      <div class="buttons">
        {button("To the start", "M2 2h2v12H2zM14 2v12L5 8z", () => seek(0))}
        {button("Step back", "M12 2v12L3 8z", () => step(-1))}
        <button type="button" class="play" data-play disabled={!isReady} onClick={play}>
          {isPlaying.value ? "Pause" : "Play"}
        </button>
        {button("Step forward", "M4 2v12l9-6z", () => step(1))}
        {button("To the end", "M12 2h2v12h-2zM2 2v12l9-6z", () => seek(steps.value[last] ?? 0))}
      </div>
      {/* No <output>: screen readers would read each frame while time runs. */}
      <span class="now" data-now={atMs.value}>
        {ms(atMs.value)}
      </span>
      <input
        class="slider"
        type="range"
        aria-label="Moment"
        aria-valuetext={ms(atMs.value)}
        min="0"
        max={last}
        step="1"
        value={lastIndexUpTo(steps.value, atMs.value)}
        disabled={!isReady}
        onInput={({ target }) => seek(steps.value[Number((target as HTMLInputElement).value)] ?? 0)}
      />
    </section>
  );
}

function Legend(): VNode {
  return (
    <details class="legend">
      <summary>What the signs mean</summary>
      <ul>
        <li>
          ● with ? asks for a claim, ✓ grants it or keeps it, ✕ denies it, + extends it, − releases it, ! says that a
          lock is free.
        </li>
        <li>
          ■ with R reads the storage, and with W writes to it. Each access goes to all storages at the same moment.
        </li>
        <li>
          In the timeline, the upper bar of a client is what it believes, with its token; the lower bar is the truth.
        </li>
        <li>
          A striped part of the upper bar is a time in which the client is wrong. A grey band is a pause, or a node that
          is down.
        </li>
        <li>Tokens are counted from 1 here, in their order. Real ones are times in microseconds.</li>
        <li>The lines of lost messages end with ✕. Quiet stretches of time are drawn shorter than they are.</li>
      </ul>
    </details>
  );
}
