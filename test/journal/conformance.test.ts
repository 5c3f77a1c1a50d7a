// The journal as another agent sees it: the same history as the live branch.
import { itemSourceConformance } from "../history/conformance.ts";
import { liveSourceOf } from "../history/sources.ts";
import { followJournal, followJournalAnew } from "./journals.ts";

itemSourceConformance("the live branch", (log) => {
  const live = liveSourceOf(log);
  return async () => live();
});

itemSourceConformance("the journal", followJournal);

itemSourceConformance("the journal, opened anew every time", followJournalAnew);
