/** A story of the playground that plays by itself on another page. */
import "../playground/playground.css";
import "./live-story.css";
import { type DefineSetupFnComponent, defineComponent, onBeforeUnmount, onMounted, ref, watch } from "vue";
import { outcomeOf } from "../playground/outcome.ts";
import { Picture } from "../playground/picture.tsx";
import { useSession } from "../playground/session.ts";
import { storyTexts } from "../playground/story-texts.ts";

const [story] = storyTexts;

/** The first story. It plays while the reader sees it, and stays still where readers prefer less motion. */
const LiveStory: DefineSetupFnComponent<object> = defineComponent(() => {
  const session = useSession(story?.id);
  const root = ref<HTMLElement>();
  const isSeen = ref(false);
  const observer = ref<IntersectionObserver>();
  onMounted(() => {
    observer.value = new IntersectionObserver(([entry]) => {
      isSeen.value = entry?.isIntersecting === true;
    });
    if (root.value) observer.value.observe(root.value);
  });
  onBeforeUnmount(() => observer.value?.disconnect());
  const begin = watch([session.run, isSeen], ([run, isInView]) => {
    if (run === undefined || !isInView) return;
    begin.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) session.seek(run.trace.endedAtMs);
    else session.toggle();
  });
  return () => {
    const { run, moment, caption, atMs, isPlaying, toggle } = session;
    const isOver = run.value !== undefined && atMs.value >= run.value.trace.endedAtMs;
    return (
      <div class="playground live-story" ref={root} data-live-story>
        <p class="told">{isOver && run.value ? outcomeOf(run.value) : caption.value}</p>
        {run.value && moment.value && (
          <Picture trace={run.value.trace} moment={moment.value} target={undefined} choose={() => {}} />
        )}
        <button type="button" disabled={run.value === undefined} onClick={toggle}>
          {isPlaying.value ? "Pause" : isOver ? "Play again" : "Play"}
        </button>
      </div>
    );
  };
});

export default LiveStory;
