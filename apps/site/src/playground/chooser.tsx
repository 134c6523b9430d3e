import type { FaultClassName } from "@holdfast/simulation";
import { type DefineSetupFnComponent, defineComponent, ref, type VNode, watch } from "vue";
import { classNames } from "./address.ts";
import { defaultPlay, type FreePlay, playLimits } from "./free-play.ts";
import type { Session } from "./session.ts";
import { storyTexts } from "./story-texts.ts";

const playFields: readonly (readonly [name: string, key: keyof FreePlay])[] = [
  ["Nodes", "nodes"],
  ["Clients", "clients"],
  ["Ttl (ms)", "ttlMs"],
  ["Think (ms)", "thinkMs"],
  ["For (ms)", "forMs"],
];

/** What the chooser needs. */
export interface ChooserProps {
  /** The run that is shown, and how to show another one. */
  readonly session: Session;
}

/** The ways to choose a run beside the stories: a world of the reader's own, or a seed. */
export const Chooser: DefineSetupFnComponent<ChooserProps> = defineComponent(
  ({ session }: ChooserProps) => {
    const play = ref<FreePlay>(defaultPlay);
    const seed = ref<{ faults: FaultClassName; seed: number }>({ faults: "lock-breaking", seed: 10 });
    watch(
      () => session.address.value.subject,
      (subject) => {
        if (subject.kind === "play") play.value = subject.play;
        if (subject.kind === "seed") seed.value = { ...subject };
      },
      { immediate: true },
    );
    return () => {
      const subject = session.error.value === undefined ? session.address.value.subject : undefined;
      return (
        <div class="chooser">
          <details class="own" open={subject?.kind === "play"}>
            <summary>Free play: a world of your own</summary>
            <form
              class="free-play"
              aria-label="Free play"
              data-free-play
              onSubmit={(event) => {
                event.preventDefault();
                session.open({ kind: "play", play: play.value });
              }}
            >
              <p class="fields">
                {playFields.map(([name, key]) =>
                  numberField(name, play.value[key], playLimits[key], (value) => {
                    play.value = { ...play.value, [key]: value };
                  }),
                )}
                <button type="submit" aria-pressed={subject?.kind === "play"}>
                  Play freely
                </button>
              </p>
            </form>
          </details>
          <details class="own" open={subject?.kind === "seed"}>
            <summary>A seed: a world that the simulation has drawn</summary>
            <form
              class="seed"
              aria-label="A seed"
              data-seed-form
              onSubmit={(event) => {
                event.preventDefault();
                session.open({ kind: "seed", ...seed.value });
              }}
            >
              <p class="fields">
                <label>
                  <span>Faults</span>
                  <select
                    value={seed.value.faults}
                    onChange={({ target }) => {
                      seed.value = { ...seed.value, faults: (target as HTMLSelectElement).value as FaultClassName };
                    }}
                  >
                    {classNames.map((name) => (
                      <option key={name} value={name}>
                        {name}
                      </option>
                    ))}
                  </select>
                </label>
                {numberField(
                  "Seed",
                  seed.value.seed,
                  [0, 4_294_967_295],
                  (value) => (seed.value = { ...seed.value, seed: value }),
                )}
                <button type="submit" aria-pressed={subject?.kind === "seed"}>
                  Open the seed
                </button>
              </p>
            </form>
          </details>
        </div>
      );
    };
  },
  { props: ["session"] },
);

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

function numberField(
  name: string,
  value: number,
  [min, max]: readonly [min: number, max: number],
  set: (value: number) => unknown,
): VNode {
  return (
    <label key={name}>
      <span>{name}</span>
      <input
        type="number"
        {...{ min, max, value }}
        step="1"
        required
        onInput={({ target }) => {
          const { valueAsNumber } = target as HTMLInputElement;
          if (!Number.isNaN(valueAsNumber)) set(valueAsNumber);
        }}
      />
    </label>
  );
}
