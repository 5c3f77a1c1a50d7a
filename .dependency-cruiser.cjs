// The arrows of docs/architecture.md, checked by `npm run check`.
const PURE =
  "^src/(log/|todo/|window/(machine|log-state|facts|phase|pairing|budget|projection|bootstrap)|acp/(lines|plans|wire)\\.|history/search|notes/paths|task/(category|addresses|context|location|roster)\\.ts|category/(labels|router|log|standing|hint)\\.ts)";

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
