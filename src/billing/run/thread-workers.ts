/** Processes pages in worker threads, each with its own connection to MongoDB. */
import { fileURLToPath } from 'node:url'
import { MessageChannel } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { CatalogUnavailableError, EntityConflictError } from '../../catalog/errors.ts'
import type { CycleCounts } from '../../catalog/records/money/cycle-documents.ts'
import type { Clock } from '../../runtime/clock.ts'
import { availableCores } from '../../runtime/cores.ts'
import type { Logger } from '../../runtime/log.ts'
import { PageLostError } from './pages.ts'
import type { PageWorkers } from './participate.ts'
import type { ThreadAnswer, ThreadData, ThreadTask } from './thread.ts'

/** While a page of a thread waits for its turn, the thread computes another one. */
const PAGES_PER_THREAD = 2

export interface ThreadOptions {
  /** As many as this process may use cores if absent. */
  readonly threads?: number | undefined
  readonly log: Pick<Logger, 'warn'>
}

/** `config`: with the resolved address of MongoDB. */
export function threadWorkers(
  config: ThreadData['config'],
  clock: Clock,
  { threads = availableCores(), log }: ThreadOptions,
): PageWorkers {
  const { mongo, rating, billing, entities, invoices } = config
  const data: ThreadData = {
    config: { mongo, rating, billing, entities, invoices },
    ahead: clock.ahead,
  }
  const piscina = new Piscina({
    filename: fileURLToPath(new URL('./thread.js', import.meta.url)),
    name: 'processInThread',
    workerData: data,
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: PAGES_PER_THREAD,
    atomics: 'disabled',
    recordTiming: false,
  })
  return {
    pagesAtOnce: threads * PAGES_PER_THREAD,
    async process({ run, aids, customers, page, retried, generatePdf = false }, awaitTurn) {
      const { port1, port2 } = new MessageChannel()
      // The thread asks for its turn once.
      port1.once('message', () => {
        awaitTurn().then(
          () => port1.postMessage('go'),
          (error: unknown) => port1.postMessage((error as Error).message),
        )
      })
      const { key, invoicingDay } = run
      const task: ThreadTask = {
        name: { key, invoicingDay },
        aids: [...aids],
        customers,
        page,
        retried,
        generatePdf,
        turn: port2,
      }
      try {
        const answer = (await piscina.run(task, { transferList: [port2] })) as ThreadAnswer
        return resultOf(answer, log)
      } finally {
        port1.close()
      }
    },
    close: () => piscina.destroy(),
  }
}

/** Errors of threads lose their class. */
function resultOf(answer: ThreadAnswer, log: Pick<Logger, 'warn'>): CycleCounts {
  if ('counts' in answer) {
    for (const { text, ...warning } of answer.warnings) log.warn(warning, text)
    return answer.counts
  }
  const { kind, message } = answer
  if (kind === 'outage') throw new CatalogUnavailableError(message)
  if (kind === 'conflict') throw new EntityConflictError(message)
  if (kind === 'lost') throw new PageLostError(message)
  throw new Error(message)
}
