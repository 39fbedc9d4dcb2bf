/** Makes documents in worker threads, each with its own connection to MongoDB. */
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import type { Catalog } from '../../catalog/connection.ts'
import { CatalogUnavailableError, ReadCancelledError } from '../../catalog/errors.ts'
import { unpackedInvoice } from '../../catalog/records/money/invoice-document.ts'
import type { Config } from '../../config/schema.ts'
import { CustomerSystemError } from '../../external/customers/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { DocumentSubject, MakeDocument } from '../documents/documents.ts'
import { EInvoiceError, NothingToInvoiceError } from '../documents/errors.ts'
import { BillingError } from '../errors.ts'
import type {
  DocumentFailure,
  DocumentResult,
  DocumentThreadData,
  DocumentThreadTask,
} from './document-thread.ts'

export interface DocumentThreads {
  readonly make: MakeDocument
  close(): Promise<void>
}

/** Documents at once in a process; others wait. */
const THREADS_MAX = 2
/** A document of more lines is large: one at a time, so that small ones have the other thread. */
const SMALL_LINES_MAX = 2_000
/** A thread without work ends, which gives its memory back. */
const IDLE_MS = 10_000
/** Memory of one thread; the lines of an invoice are limited (`readAccounts`). */
const MEMORY_MIB_MAX = 512

const ENTRY = fileURLToPath(new URL('./document-thread.js', import.meta.url))

export interface DocumentThreadOptions {
  readonly catalog: Pick<Catalog, 'lines'>
  /** With the resolved address of MongoDB. */
  readonly config: Config
  readonly clock: Clock
}

/** The threads are started when they are needed. `entry`: another file in tests. */
export function documentThreads(
  { catalog, config, clock }: DocumentThreadOptions,
  entry = ENTRY,
): DocumentThreads {
  const data: DocumentThreadData = { config, ahead: clock.ahead }
  const piscina = new Piscina({
    filename: entry,
    name: 'makeInThread',
    workerData: data,
    minThreads: 0,
    maxThreads: THREADS_MAX,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB_MAX },
    atomics: 'disabled',
    recordTiming: false,
  })
  let lastLarge: Promise<unknown> = Promise.resolve()
  const run = async (task: DocumentThreadTask, signal: AbortSignal | undefined) => {
    const start = (): Promise<DocumentResult> => piscina.run(task, signal && { signal })
    if (!(await isLarge(catalog, task.subject))) return start()
    const own = lastLarge.then(start)
    lastLarge = own.catch(() => undefined)
    return unlessAborted(own, signal)
  }
  return {
    async make(subject, format, path, signal) {
      try {
        const result = await run({ subject, format, path }, signal)
        if (!('expected' in result)) throw errorOf(result)
        return result.expected === null ? null : unpackedInvoice(result.expected)
      } catch (error) {
        if (signal?.aborted) throw new ReadCancelledError(`${nameOf(subject)}: cancelled`)
        const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
        throw isTooLarge ? new BillingError(`${nameOf(subject)} ${TOO_LARGE}`, 'refused') : error
      }
    },
    close: () => piscina.destroy(),
  }
}

/** By the lines that are stored: an expected invoice has few others. */
async function isLarge(
  catalog: Pick<Catalog, 'lines'>,
  subject: DocumentSubject,
): Promise<boolean> {
  const key =
    'invoice' in subject
      ? { aid: subject.invoice.aid, billrun: subject.invoice.billrunKey }
      : { aid: subject.expected.aid, billrun: subject.expected.cycle.key }
  const count = await catalog.lines.countDocuments(key, { limit: SMALL_LINES_MAX + 1 })
  return count > SMALL_LINES_MAX
}

/** A document that waits for its turn is given up at once. */
async function unlessAborted<T>(own: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return own
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([own, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const TOO_LARGE = `needs more than ${MEMORY_MIB_MAX} MiB of memory`

function nameOf(subject: DocumentSubject): string {
  if ('invoice' in subject) return `the document of invoice ${subject.invoice.invoiceId}`
  return 'the document of the expected invoice'
}

function errorOf({ kind, message }: DocumentFailure): Error {
  if (kind === 'outage') return new CatalogUnavailableError(message)
  if (kind === 'e-invoice') return new EInvoiceError(message)
  if (kind === 'nothing') return new NothingToInvoiceError()
  if (kind === 'refused') return new BillingError(message, 'refused')
  return new CustomerSystemError(kind, message)
}
