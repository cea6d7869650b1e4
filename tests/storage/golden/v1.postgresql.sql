-- Schema 1 as pg_dump --inserts wrote it, without the names of schemas, so that it goes into any.
CREATE TABLE donewhen_migrations (
    number bigint NOT NULL
);
CREATE TABLE donewhen_records (
    session text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    seq bigint,
    at text NOT NULL COLLATE pg_catalog."C",
    generation bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C",
    checksum bigint NOT NULL
);
CREATE TABLE donewhen_sessions (
    id text NOT NULL COLLATE pg_catalog."C",
    repo text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL COLLATE pg_catalog."C",
    created_at text NOT NULL COLLATE pg_catalog."C",
    last_at text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL COLLATE pg_catalog."C",
    generation bigint NOT NULL,
    owner text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    seq bigint NOT NULL
);
INSERT INTO donewhen_migrations VALUES (1);
INSERT INTO donewhen_records VALUES ('first', 1, 1, '2026-11-16T02:49:50.050Z', 1, 'state_changed', '{"from":"created","to":"running"}', 3501603275);
INSERT INTO donewhen_records VALUES ('first', 2, NULL, '2026-11-16T02:49:50.052Z', 1, 'turn', '{"role":"maker","text":"\u00e4 \u0000 \ud800 \ud83d\ude00"}', 1966010360);
INSERT INTO donewhen_records VALUES ('first', 3, NULL, '2026-11-16T02:49:50.053Z', 1, 'snapshot', '{"tree":"2222222222222222222222222222222222222222"}', 843396723);
INSERT INTO donewhen_records VALUES ('first', 4, 2, '2026-11-16T02:49:50.053Z', 1, 'plan_text', '{"text":"two\nlines"}', 2841034164);
INSERT INTO donewhen_records VALUES ('first', 5, 3, '2026-11-16T02:49:50.053Z', 1, 'session_finished', '{"outcome":"verified","reason":"","iterations":1,"results":[],"summary":"ok","tree":"1111111111111111111111111111111111111111"}', 4158765684);
INSERT INTO donewhen_records VALUES ('first', 6, 4, '2026-11-16T02:49:50.054Z', 1, 'state_changed', '{"from":"running","to":"finished"}', 138002209);
INSERT INTO donewhen_records VALUES ('second', 1, 1, '2026-11-16T02:49:50.057Z', 1, 'state_changed', '{"from":"created","to":"waiting"}', 497485201);
INSERT INTO donewhen_sessions VALUES ('first', '/r', 'One', '2026-11-16T02:49:50.049Z', '2026-11-16T02:49:50.054Z', 'finished', 'verified', '', 1, '', 6, 4);
INSERT INTO donewhen_sessions VALUES ('second', '/home/ü', 'Zwei', '2026-11-16T02:49:50.050Z', '2026-11-16T02:49:50.057Z', 'waiting', '', '', 1, '', 1, 1);
ALTER TABLE ONLY donewhen_migrations
    ADD CONSTRAINT donewhen_migrations_pkey PRIMARY KEY (number);
ALTER TABLE ONLY donewhen_records
    ADD CONSTRAINT donewhen_records_pkey PRIMARY KEY (session, "position");
ALTER TABLE ONLY donewhen_records
    ADD CONSTRAINT donewhen_records_session_seq_key UNIQUE (session, seq);
ALTER TABLE ONLY donewhen_sessions
    ADD CONSTRAINT donewhen_sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY donewhen_records
    ADD CONSTRAINT donewhen_records_session_fkey FOREIGN KEY (session) REFERENCES donewhen_sessions(id) ON DELETE CASCADE;
