// The arrows of docs/architecture.md, checked by `npm run check`.
const PURE =
  "^src/(log/|todo/|window/(machine|log-state|facts|phase|pairing|budget|projection|bootstrap)|acp/(plans|wire)\\.|extract/(forms|html|render)\\.|json-lines\\.|dispatch/(record/(schema|rules|view)|brief/(prompt|transcript)|files/(names|roles)|run/(pi-events|run-log|slots)|quota|routing)\\.|history/search|notes/paths|task/(category|addresses|context|location|roster)\\.ts|category/(labels|router|log|standing|hint)\\.ts)";

/** The rooms of src/dispatch, and what each may import of it besides itself. */
const DISPATCH_ROOMS = {
  files: [],
  record: ["files/", "task-view"],
  brief: ["record/", "parent", "settings"],
  run: ["brief/", "record/", "files/", "parts", "runner", "settings", "task-view"],
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
    {
      name: "storage-at-the-bottom",
      severity: "error",
      from: { path: "^src/(storage|host)/" },
      to: { path: "^src/(ui|tools|subagents|dispatch|window|history|notes|todo|task|log)/" },
    },
    {
      name: "log-and-task-low",
      severity: "error",
      from: { path: "^src/(log|task)/" },
      to: { path: "^src/(ui|tools|subagents|dispatch|window|history|notes|todo)/" },
    },
    {
      name: "middle-below-surfaces",
      severity: "error",
      from: { path: "^src/(window|history|notes|todo)/" },
      to: { path: "^src/(ui|tools|subagents|dispatch)/" },
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
          "^src/(dispatch|extract|category|history|log|subagents|task|host|storage)/|^src/(errors|options|json-lines|prompts|schema)\\.ts",
      },
    },
    ...Object.entries(DISPATCH_ROOMS).map(([room, below]) => ({
      name: `dispatch-${room}`,
      severity: "error",
      from: { path: `^src/dispatch/${room}/` },
      to: { path: "^src/dispatch/", pathNot: `^src/dispatch/(${[`${room}/`, ...below].join("|")})` },
    })),
    {
      name: "acp-apart",
      severity: "error",
      from: { path: "^src/acp/" },
      to: {
        path: "^src/",
        pathNot: "^src/(acp|todo|task|storage)/|^src/(host/api|subagents/packages|errors|json-lines)\\.ts",
      },
    },
    {
      name: "only-the-root-composes",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(index|extension)\\.ts$|^src/wire/" },
      to: { path: "^src/(index|extension)\\.ts$|^src/wire/" },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "node"] },
  },
};
