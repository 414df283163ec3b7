-- Leases. A holder that is a worker loses a lease only when it is gone.

CREATE TABLE hookwright.leases (
    name bytea PRIMARY KEY,
    token bigint NOT NULL,
    holder bytea NOT NULL,
    -- The worker that holds it, if the holder is one.
    worker bytea,
    -- How often this holder was asked to end.
    stops bigint NOT NULL DEFAULT 0
);
CREATE INDEX leases_of_workers ON hookwright.leases (worker) WHERE worker IS NOT NULL;

-- Fails unless the lease is held with this token. The lease cannot change hands before the end of
-- this transaction.
CREATE FUNCTION hookwright.check_fence(lease bytea, lease_token bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    current_token bigint;
BEGIN
    SELECT l.token INTO current_token FROM hookwright.leases AS l WHERE l.name = lease FOR SHARE;
    IF current_token IS DISTINCT FROM lease_token THEN
        RAISE EXCEPTION 'fenced' USING ERRCODE = 'HW001',
            DETAIL = coalesce(current_token::text, '');
    END IF;
END $$;

-- Takes a lease. Returns the token and the holder; `is_granted` says whether that is the caller.
-- `instead_of` is the token of a holder that the caller has found dead. If that holder is a worker,
-- it must have been declared dead, or have left. `is_held_by_gone` is NULL if it is no worker.
-- The token is drawn while the lease is locked, so that every grant has a higher one.
CREATE FUNCTION hookwright.acquire(
    client bytea, call_number bigint, lease bytea, new_holder bytea, new_worker bytea,
    instead_of bigint,
    OUT is_granted boolean, OUT token bigint, OUT holder bytea, OUT is_held_by_gone boolean
) LANGUAGE plpgsql AS $$
DECLARE
    call_result bigint[] := hookwright.begin_call(client, call_number);
    is_new boolean := false;
    holding_worker bytea;
BEGIN
    IF call_result IS NOT NULL THEN
        is_granted := true;
        token := call_result[1];
        holder := new_holder;
        RETURN;
    END IF;
    PERFORM hookwright.check_worker(new_worker);
    LOOP
        SELECT l.token, l.holder, l.worker INTO token, holder, holding_worker
            FROM hookwright.leases AS l WHERE l.name = lease FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO hookwright.leases AS l (name, token, holder) VALUES (lease, 0, new_holder)
            ON CONFLICT DO NOTHING;
        is_new := FOUND;
    END LOOP;
    IF holding_worker IS NOT NULL THEN
        is_held_by_gone := hookwright.is_gone(holding_worker);
    END IF;
    IF NOT is_new AND (instead_of IS DISTINCT FROM token OR NOT coalesce(is_held_by_gone, true))
    THEN
        is_granted := false;
        RETURN;
    END IF;
    is_granted := true;
    token := nextval('hookwright.revisions');
    holder := new_holder;
    UPDATE hookwright.leases AS l
        SET token = acquire.token, holder = new_holder, worker = new_worker, stops = 0
        WHERE l.name = lease;
    PERFORM hookwright.end_call(client, call_number, ARRAY[acquire.token]);
END $$;

-- Releases a lease; false if this token does not hold it.
CREATE FUNCTION hookwright.release(
    client bytea, call_number bigint, lease bytea, lease_token bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    call_result bigint[] := hookwright.begin_call(client, call_number);
BEGIN
    IF call_result IS NOT NULL THEN
        RETURN true;
    END IF;
    DELETE FROM hookwright.leases AS l WHERE l.name = lease AND l.token = lease_token;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM hookwright.end_call(client, call_number, '{}');
    RETURN true;
END $$;

-- Whether a lease is held with this token by a holder that may be dead, or free if the token is
-- NULL. It stays so until the end of this transaction.
CREATE FUNCTION hookwright.lease_is(lease bytea, lease_token bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    current_token bigint;
    holding_worker bytea;
BEGIN
    LOOP
        SELECT l.token, l.worker INTO current_token, holding_worker
            FROM hookwright.leases AS l WHERE l.name = lease FOR SHARE;
        IF FOUND OR lease_token IS NOT NULL THEN
            RETURN current_token IS NOT DISTINCT FROM lease_token
                AND (holding_worker IS NULL OR hookwright.is_gone(holding_worker));
        END IF;
        -- A new lease that is deleted again makes others wait that want to take it.
        INSERT INTO hookwright.leases (name, token, holder) VALUES (lease, 0, '')
            ON CONFLICT DO NOTHING;
        IF FOUND THEN
            DELETE FROM hookwright.leases AS l WHERE l.name = lease;
            RETURN true;
        END IF;
    END LOOP;
END $$;
