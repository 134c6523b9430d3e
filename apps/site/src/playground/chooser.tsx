import type { FaultClassName } from "@holdfast/simulation";
import type { VNode } from "vue";
import { classNames } from "./address.ts";
import { defaultPlay, type FreePlay, playLimits } from "./free-play.ts";
import type { Session } from "./session.ts";
import { storyTexts } from "./story-texts.ts";

const playFields: readonly (readonly [key: keyof FreePlay, name: string])[] = [
  ["nodes", "Nodes"],
  ["clients", "Clients"],
  ["ttlMs", "Ttl (ms)"],
  ["thinkMs", "Think (ms)"],
  ["forMs", "For (ms)"],
];

const firstSeed = { faults: "lock-breaking", seed: 10 };

/** What the chooser needs. */
export interface ChooserProps {
  /** The run that is shown, and how to show another one. */
  readonly session: Session;
}

/** The ways to choose a run beside the stories: a world of the reader's own, or a seed. */
export function Chooser({ session: { address, error, open } }: ChooserProps): VNode {
  const subject = error.value === undefined ? address.value.subject : undefined;
  const play = subject?.kind === "play" ? subject.play : defaultPlay;
  const { faults, seed } = subject?.kind === "seed" ? subject : firstSeed;
  const classField = (
    <label>
      <span>Faults</span>
      <select name="faults" value={faults}>
        {classNames.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
  return (
    <div class="chooser">
      <OwnRun
        title="Free play: a world of your own"
        fields={playFields.map(([key, name]) => numberField(key, name, play[key], playLimits[key]))}
        button="Play freely"
        isShown={subject?.kind === "play"}
        open={(data) => {
          const numbers = playFields.map(([key]) => [key, Number(data.get(key))] as const);
          open({ kind: "play", play: { ...defaultPlay, ...Object.fromEntries(numbers) } });
        }}
      />
      <OwnRun
        title="A seed: a world that the simulation has drawn"
        fields={[classField, numberField("seed", "Seed", seed, [0, 4_294_967_295])]}
        button="Open the seed"
        isShown={subject?.kind === "seed"}
        open={(data) =>
          open({ kind: "seed", faults: data.get("faults") as FaultClassName, seed: Number(data.get("seed")) })
        }
      />
    </div>
  );
}

interface OwnRunProps {
  readonly title: string;
  readonly fields: readonly VNode[];
  readonly button: string;
  /** Whether the run that is shown comes from this form. */
  readonly isShown: boolean;
  readonly open: (data: FormData) => void;
}

/** A form that opens a run. */
function OwnRun({ title, fields, button, isShown, open }: OwnRunProps): VNode {
  return (
    <details class="own" open={isShown}>
      <summary>{title}</summary>
      <form
        aria-label={title}
        onSubmit={(event) => {
          event.preventDefault();
          open(new FormData(event.target as HTMLFormElement));
        }}
      >
        <p class="fields">
          {fields}
          <button type="submit" aria-pressed={isShown}>
            {button}
          </button>
        </p>
      </form>
    </details>
  );
}

function numberField(key: string, name: string, value: number, [min, max]: readonly [number, number]): VNode {
  return (
    <label key={key}>
      <span>{name}</span>
      <input type="number" name={key} {...{ min, max, value }} step="1" required />
    </label>
  );
}

/** The stories, each with a line that says what it is about: all of them, or only the one that is shown. */
export function Stories({
  session: { address, error, open },
  hasAll,
}: ChooserProps & { readonly hasAll: boolean }): VNode {
  const { subject } = address.value;
  const isStory = subject.kind === "story" && error.value === undefined;
  return (
    <label class="stories">
      <span>Story</span>
      <select
        data-stories
        value={isStory ? subject.id : ""}
        onChange={({ target }) => open({ kind: "story", id: (target as HTMLSelectElement).value })}
      >
        {!isStory && (
          <option value="" disabled>
            {subject.kind === "play" ? "Free play" : subject.kind === "seed" ? `Seed ${subject.seed}` : "None"}
          </option>
        )}
        {storyTexts
          .filter(({ id }) => hasAll || (isStory && id === subject.id))
          .map(({ id, title, line }) => (
            <option key={id} value={id}>
              {title}: {line}
            </option>
          ))}
      </select>
    </label>
  );
}
