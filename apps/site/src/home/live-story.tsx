/** A story of the playground that plays by itself on another page. */
import "../playground/playground.css";
import "./live-story.css";
import { computed, type DefineSetupFnComponent, defineComponent, onBeforeUnmount, onMounted, ref, watch } from "vue";
import { Picture } from "../playground/picture.tsx";
import { prefersLessMotion } from "../playground/player.ts";
import { useSession } from "../playground/session.ts";
import { storyTexts } from "../playground/story-texts.ts";

const [story] = storyTexts;

/** How much of the story a reader sees before it plays: less would begin it at the edge of the screen. */
const seenShare = 0.5;

/**
 * The first story. It plays while the reader sees it, until the reader presses the button, and stays still where readers
 * prefer less motion.
 */
const LiveStory: DefineSetupFnComponent<object> = defineComponent(() => {
  const session = useSession(story?.id);
  const root = ref<HTMLElement>();
  const isSeen = ref(false);
  const observer = ref<IntersectionObserver>();
  onMounted(() => {
    const look = (entries: IntersectionObserverEntry[]): void => {
      isSeen.value = (entries.at(-1)?.intersectionRatio ?? 0) >= seenShare;
    };
    observer.value = new IntersectionObserver(look, { threshold: seenShare });
    if (root.value) observer.value.observe(root.value);
  });
  onBeforeUnmount(() => observer.value?.disconnect());
  const isOver = computed(() => session.atMs.value === session.run.value?.trace.endedAtMs);
  const follow = watch([session.run, isSeen], ([run, isInView]) => {
    if (run === undefined || isOver.value) return;
    if (prefersLessMotion()) session.seek(run.trace.endedAtMs);
    else if (isInView !== session.isPlaying.value) session.toggle();
  });
  function press(): void {
    follow.stop();
    session.toggle();
  }
  return () => {
    const { run, moment, caption, error, isPlaying } = session;
    return (
      <section class="playground live-story" aria-label={story?.title} ref={root} data-live-story>
        <p class="told">{error.value ?? caption.value}</p>
        {run.value && moment.value && (
          <Picture trace={run.value.trace} moment={moment.value} target={undefined} choose={() => {}} />
        )}
        <button type="button" disabled={run.value === undefined} onClick={press}>
          {isPlaying.value ? "Pause" : isOver.value ? "Play again" : "Play"}
        </button>
      </section>
    );
  };
});

export default LiveStory;
