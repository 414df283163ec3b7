-- Workers: processes that run sessions. Each adds 1 to its number with every beat, and watches
-- others. No decision depends on a clock.

-- One row. All workers pause this long after the answer to a beat.
CREATE TABLE hookwright.settings (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    beat_ms bigint NOT NULL
);
INSERT INTO hookwright.settings (beat_ms) VALUES (5000);

-- `died` is NULL while the worker lives, and never becomes NULL again. `last_beat` is for people.
CREATE TABLE hookwright.workers (
    id bytea PRIMARY KEY,
    number bigint NOT NULL,
    died timestamptz,
    last_beat timestamptz NOT NULL DEFAULT now(),
    description bytea NOT NULL
) WITH (fillfactor = 50);
-- No index has a column that a beat changes.
CREATE INDEX living_workers ON hookwright.workers (id) WHERE died IS NULL;
CREATE INDEX dead_workers ON hookwright.workers (died) WHERE died IS NOT NULL;

-- Whether a worker was declared dead or has left. False for NULL, a holder that is no worker.
CREATE FUNCTION hookwright.is_gone(worker_id bytea) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT worker_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM hookwright.workers AS w WHERE w.id = worker_id AND w.died IS NULL)
$$;

-- Fails if this worker is gone: what it takes now could be taken from it at once.
CREATE FUNCTION hookwright.check_worker(worker_id bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF hookwright.is_gone(worker_id) THEN
        RAISE EXCEPTION 'declared dead' USING ERRCODE = 'HW006';
    END IF;
END $$;

-- Adds a worker, and returns the beat in milliseconds. A copy that arrives late does not make a
-- dead worker live.
CREATE FUNCTION hookwright.join_workers(worker_id bytea, new_description bytea) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hookwright.begin_change();
    INSERT INTO hookwright.workers (id, number, description) VALUES (worker_id, 0, new_description)
        ON CONFLICT DO NOTHING;
    -- A worker that is not there is gone, so nothing changes for its leases. More than one, so that
    -- they do not pile up.
    DELETE FROM hookwright.workers AS old WHERE old.id IN (
        SELECT w.id FROM hookwright.workers AS w WHERE w.died < now() - interval '7 days'
        ORDER BY w.died LIMIT 8 FOR UPDATE SKIP LOCKED
    );
    PERFORM hookwright.count_change();
    RETURN (SELECT s.beat_ms FROM hookwright.settings AS s);
END $$;

-- A beat of a worker. `lost` has the places of the leases that it does not hold any more. The
-- watched workers are the living ones behind it in the order of ids; the first follows the last.
CREATE FUNCTION hookwright.beat(
    worker_id bytea, held_names bytea[], held_tokens bigint[], watched_max bigint,
    OUT is_living boolean, OUT lost bigint[], OUT watched_ids bytea[], OUT watched_numbers bigint[]
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hookwright.begin_change();
    UPDATE hookwright.workers AS w SET number = w.number + 1, last_beat = now()
        WHERE w.id = worker_id AND w.died IS NULL;
    is_living := FOUND;
    SELECT coalesce(array_agg(held.place), '{}') INTO lost
        FROM unnest(held_names, held_tokens) WITH ORDINALITY AS held (name, token, place)
        WHERE held.token IS DISTINCT FROM (
            SELECT l.token FROM hookwright.leases AS l WHERE l.name = held.name);
    SELECT coalesce(array_agg(next.id), '{}'), coalesce(array_agg(next.number), '{}')
        INTO watched_ids, watched_numbers
        FROM (
            SELECT * FROM (
                (SELECT false AS wraps, w.id, w.number FROM hookwright.workers AS w
                    WHERE w.died IS NULL AND w.id > worker_id ORDER BY w.id LIMIT watched_max)
                UNION ALL
                (SELECT true, w.id, w.number FROM hookwright.workers AS w
                    WHERE w.died IS NULL AND w.id < worker_id ORDER BY w.id LIMIT watched_max)
            ) AS both_parts ORDER BY both_parts.wraps, both_parts.id LIMIT watched_max
        ) AS next;
END $$;

-- Declares a worker dead, unless its number has changed. Returns whether it is gone.
CREATE FUNCTION hookwright.declare_dead(worker_id bytea, found_number bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hookwright.begin_change();
    UPDATE hookwright.workers AS w SET died = now()
        WHERE w.id = worker_id AND w.number = found_number AND w.died IS NULL;
    IF FOUND THEN
        PERFORM hookwright.count_change();
    END IF;
    RETURN hookwright.is_gone(worker_id);
END $$;

-- Removes a worker and gives its leases back.
CREATE FUNCTION hookwright.leave_workers(worker_id bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hookwright.begin_change();
    DELETE FROM hookwright.leases AS l WHERE l.worker = worker_id;
    DELETE FROM hookwright.workers AS w WHERE w.id = worker_id;
    PERFORM hookwright.count_change();
END $$;
