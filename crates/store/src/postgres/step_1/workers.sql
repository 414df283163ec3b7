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
    -- How often it was woken.
    wakes bigint NOT NULL DEFAULT 0,
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

-- What a worker has to know. `lost` has the places of the leases that it does not hold any more.
-- `wakes` counts how often it was woken, and `stops` how often each lease's holder was asked to end.
CREATE FUNCTION hookwright.look(
    worker_id bytea, held_names bytea[], held_tokens bigint[],
    OUT is_living boolean, OUT wakes bigint, OUT lost bigint[], OUT stops bigint[]
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT w.died IS NULL, w.wakes INTO is_living, wakes
        FROM hookwright.workers AS w WHERE w.id = worker_id;
    is_living := coalesce(is_living, false);
    wakes := coalesce(wakes, 0);
    SELECT
        coalesce(array_agg(held.place) FILTER (WHERE l.token IS DISTINCT FROM held.token), '{}'),
        coalesce(array_agg(coalesce(l.stops, 0) ORDER BY held.place), '{}')
        INTO lost, stops
        FROM unnest(held_names, held_tokens) WITH ORDINALITY AS held (name, token, place)
        -- The limit keeps it from reading all leases to join them.
        LEFT JOIN LATERAL (
            SELECT own.token, own.stops FROM hookwright.leases AS own
            WHERE own.name = held.name LIMIT 1
        ) AS l ON true;
END $$;

-- A beat of a worker, with what it has to know. The watched workers are the living ones behind it in
-- the order of ids; the first follows the last.
CREATE FUNCTION hookwright.beat(
    worker_id bytea, held_names bytea[], held_tokens bigint[], watched_max bigint,
    OUT is_living boolean, OUT wakes bigint, OUT lost bigint[], OUT stops bigint[],
    OUT watched_ids bytea[], OUT watched_numbers bigint[]
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hookwright.begin_change();
    UPDATE hookwright.workers AS w SET number = w.number + 1, last_beat = now()
        WHERE w.id = worker_id AND w.died IS NULL;
    SELECT * INTO is_living, wakes, lost, stops
        FROM hookwright.look(worker_id, held_names, held_tokens);
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

-- Wakes a worker: its next look or beat tells, and the notification makes it look at once. Returns
-- whether it lives. Done twice, it does no harm.
CREATE FUNCTION hookwright.wake(worker_id bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hookwright.begin_change();
    UPDATE hookwright.workers AS w SET wakes = w.wakes + 1
        WHERE w.id = worker_id AND w.died IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM pg_notify('hookwright_wakes', encode(worker_id, 'hex'));
    RETURN true;
END $$;

-- Asks the holder of a lease to end. Returns whether this token still holds it, and for a worker.
CREATE FUNCTION hookwright.ask_to_stop(lease bytea, lease_token bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    holding_worker bytea;
BEGIN
    PERFORM hookwright.begin_change();
    UPDATE hookwright.leases AS l SET stops = l.stops + 1
        WHERE l.name = lease AND l.token = lease_token AND l.worker IS NOT NULL
        RETURNING l.worker INTO holding_worker;
    RETURN holding_worker IS NOT NULL AND hookwright.wake(holding_worker);
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
