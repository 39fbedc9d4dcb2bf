/** Processes pages on this thread. */

import type { PageWorkers } from './participate.ts'
import { type PageDeps, processPage } from './process-page.ts'

export function inlineWorkers(deps: PageDeps, pagesAtOnce = 2): PageWorkers {
  return {
    pagesAtOnce,
    process: (task, awaitTurn) => processPage(deps, task, awaitTurn),
    close: async () => undefined,
  }
}
