-- Refuses stale writers to the rows of a whole table, whatever statements they use. The table needs a column for the newest token
-- that each row was shown:
--
--   ALTER TABLE accounts ADD COLUMN fence bigint NOT NULL DEFAULT 0;
--   CREATE TRIGGER fence_guard BEFORE INSERT OR UPDATE OR DELETE ON accounts
--     FOR EACH ROW EXECUTE FUNCTION fence_guard();
--
-- Each transaction that writes shows its token first, once: SELECT set_config('holdfast.fence', '42', true)
-- What is read to be written later is read by a statement that registers the token, as triggers do not see a SELECT:
--   UPDATE accounts SET fence = fence WHERE id = '7' RETURNING balance
--
-- A row that is new has no token to compare with: before an INSERT, touch the row that stands for what is locked, by such a
-- statement, in the same transaction. And do not change keys: under its old key, a row is as good as deleted.
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
