-- Refuses stale writers to all rows of a table, whatever statements they use. The table needs a column for the newest token
-- that each row was shown:
--
--   ALTER TABLE accounts ADD COLUMN fence bigint NOT NULL DEFAULT 0;
--   CREATE TRIGGER fence_guard BEFORE INSERT OR UPDATE OR DELETE ON accounts
--     FOR EACH ROW EXECUTE FUNCTION fence_guard();
--
-- Each transaction that writes shows its token first, once: SELECT set_config('holdfast.fence', '42', true)
-- Triggers do not see a SELECT. Read data that you will write later with a statement that registers the token:
--   UPDATE accounts SET fence = fence WHERE id = '7' RETURNING balance
--
-- A new row has no token to compare with. Before an INSERT, run such a statement on the row that represents the locked
-- resource, in the same transaction. Do not change keys: the old key loses its token, as if the row were deleted.
CREATE OR REPLACE FUNCTION fence_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  token bigint := nullif(current_setting('holdfast.fence', true), '');
BEGIN
  IF token IS NULL THEN
    RAISE EXCEPTION 'could not write to %: no fencing token was shown', TG_TABLE_NAME
      USING ERRCODE = 'LF428', HINT = 'Begin with: SELECT set_config(''holdfast.fence'', token, true)';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'could not delete from %: a row that is gone forgets its token', TG_TABLE_NAME
      USING ERRCODE = 'LF405', HINT = 'Mark the row as deleted, so that it goes on refusing older tokens.';
  END IF;
  IF TG_OP = 'UPDATE' AND token < OLD.fence THEN
    RAISE EXCEPTION 'could not write to % with fence %: the row was shown fence % already', TG_TABLE_NAME, token, OLD.fence
      USING ERRCODE = 'LF409', HINT = 'Another holder has the lock by now.';
  END IF;
  NEW.fence := token;
  RETURN NEW;
END
$$;
