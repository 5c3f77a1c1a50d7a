// The arrows of docs/architecture.md, checked by `npm run check`.

/** The rooms and files of src/, the lowest first: each imports only what is before it. */
const ROOMS = [
  // Words and shapes
  "errors",
  "shapes",
  "schema",
  "schema-check",
  "packed",
  "figures",
  "similar",
  "json-lines",
  "options",
  "prompts",
  // What lies outside: the disk, packages, the host
  "storage",
  "packages",
  "host",
  // What the log and the root task say
  "log",
  "task",
  "history",
  "journal",
  "notes",
  "category",
  "todo",
  "window",
  // What the model and children are given
  "extract",
  "tools",
  "settings-schema",
  "settings-values",
  "settings-layers",
  "settings",
  "settings-models",
  "subagents",
  "dispatch",
  // Other programs
  "acp",
  "plan",
  "launcher",
  "reader",
  // A session, and what people see of it
  "session",
  "ui",
  "doctor",
];

/** The composition root knows everything, and nothing knows it. */
const TOP = "wire|extension|index";

const PURE =
  "^src/(log/|todo/|window/(machine|log-state|facts|phase|pairing|budget|projection|alignment|bootstrap|openings|consolidation|controls|responses|refusals|notices|unwritten|labels|room|usage)|acp/(plans|wire)\\.|extract/(forms|html|render)\\.|json-lines\\.|schema-check\\.|dispatch/(record/(schema|rules|view)|brief/(prompt|transcript)|files/(names|roles)|run/(pi-events|run-log|slots)|quota|routing)\\.|history/search|journal/(line|ids|records|log-format|log-scan)\\.|notes/paths|task/(category|addresses|context|location|roster)\\.ts|category/(labels|router|log|classification)\\.ts)";

/** The rooms of src/dispatch, and what each may import of it besides itself. */
const DISPATCH_ROOMS = {
  files: [],
  record: ["files/", "task-view"],
  brief: ["record/", "parent", "settings"],
  sandbox: [],
  run: ["brief/", "record/", "files/", "sandbox/", "parts", "runner", "settings", "task-view"],
};

/** The files of src/journal: the log, what is known of a journal, and the two who use that; and what each may import. */
const JOURNAL_LOG = "log|log-format|log-lock|log-open|log-scan";
const JOURNAL_KNOWN = "line|ids|records|state|index-file|journal";
const JOURNAL_LAYERS = {
  log: { files: JOURNAL_LOG, below: [] },
  known: { files: JOURNAL_KNOWN, below: [JOURNAL_LOG] },
  reader: { files: "reader|branch|sieve", below: [JOURNAL_LOG, JOURNAL_KNOWN] },
  writer: { files: "writer|plan", below: [JOURNAL_LOG, JOURNAL_KNOWN] },
};

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: "no-circles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "pure-middle",
      comment: "The pure middle reads no disk, no clock and no Pi.",
      severity: "error",
      from: { path: PURE },
      to: {
        path: "^(node:)?(fs|fs/promises|timers|child_process|worker_threads)$|node_modules/(@mariozechner|@earendil-works|proper-lockfile|write-file-atomic)",
      },
    },
    ...ROOMS.map((room, at) => ({
      name: `${room}-looks-down`,
      comment: "A room imports what is before it in ROOMS, and nothing behind it.",
      severity: "error",
      from: { path: `^src/${room}(/|\\.ts$)` },
      to: { path: `^src/(${[...ROOMS.slice(at + 1), TOP].join("|")})(/|\\.ts$)` },
    })),
    {
      name: "every-room-has-its-layer",
      comment: "A new room of src/ gets its place in ROOMS.",
      severity: "error",
      from: {},
      to: { path: "^src/", pathNot: `^src/(${[...ROOMS, TOP].join("|")})(/|\\.ts$)` },
    },
    {
      name: "host-runtime-in-host-only",
      comment: "Types may come from anywhere; running host code is the seam's business.",
      severity: "error",
      from: { path: "^(src|api)", pathNot: "^src/host/" },
      to: { path: "node_modules/(@mariozechner|@earendil-works)", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "only-storage-writes",
      comment: "Modules outside storage/ get at files through it.",
      severity: "error",
      from: { path: "^(src|api)", pathNot: "^src/(storage|host)/" },
      to: { path: "node_modules/(proper-lockfile|write-file-atomic)|^(node:)?fs(/promises)?$" },
    },
    {
      name: "extract-knows-no-caller",
      severity: "error",
      from: { path: "^src/extract/" },
      to: { path: "^src/", pathNot: "^src/(extract/|storage/|errors\\.ts)" },
    },
    {
      name: "dispatch-below-the-session",
      severity: "error",
      from: { path: "^src/dispatch/" },
      to: {
        path: "^src/",
        pathNot:
          "^src/(dispatch|extract|category|history|journal|log|subagents|task|host|packages|storage)/|^src/(errors|options|json-lines|prompts|schema|schema-check|shapes)\\.ts",
      },
    },
    ...Object.entries(DISPATCH_ROOMS).map(([room, below]) => ({
      name: `dispatch-${room}`,
      severity: "error",
      from: { path: `^src/dispatch/${room}/` },
      to: { path: "^src/dispatch/", pathNot: `^src/dispatch/(${[`${room}/`, ...below].join("|")})` },
    })),
    ...Object.entries(JOURNAL_LAYERS).map(([layer, { files, below }]) => ({
      name: `journal-${layer}`,
      comment: "Reader and writer know what is below them, and not each other.",
      severity: "error",
      from: { path: `^src/journal/(${files})\\.ts$` },
      to: { path: "^src/journal/", pathNot: `^src/journal/(${[files, ...below].join("|")})\\.ts$` },
    })),
    {
      name: "journal-files-have-their-layer",
      severity: "error",
      from: {},
      to: {
        path: "^src/journal/",
        pathNot: `^src/journal/(${Object.values(JOURNAL_LAYERS)
          .map(({ files }) => files)
          .join("|")})\\.ts$`,
      },
    },
    {
      name: "acp-apart",
      severity: "error",
      from: { path: "^src/acp/" },
      to: {
        path: "^src/",
        pathNot: "^src/(acp|todo|task|storage)/|^src/(host/api|packages/own|errors|json-lines|shapes)\\.ts",
      },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "node"] },
  },
};
