/** Makes documents in worker threads, each with its own connection to MongoDB. */
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { CatalogUnavailableError, ReadCancelledError } from '../../catalog/errors.ts'
import { unpackedInvoice } from '../../catalog/records/invoice-document.ts'
import type { Config } from '../../config/schema.ts'
import { CustomerSystemError } from '../../external/customers/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { BillingError } from '../errors.ts'
import type { DocumentSubject, MakeDocument } from './documents.ts'
import { EInvoiceError, NothingToInvoiceError } from './errors.ts'
import type {
  DocumentFailure,
  DocumentResult,
  DocumentThreadData,
  DocumentThreadTask,
} from './thread.ts'

export interface DocumentThreads {
  readonly make: MakeDocument
  close(): Promise<void>
}

/** Documents at once in a process; others wait. */
const THREADS_MAX = 2
/** A thread without work ends, which gives its memory back. */
const IDLE_MS = 10_000
/** Memory of one thread; the lines of an invoice are limited (`readAccounts`). */
const MEMORY_MIB_MAX = 512

const ENTRY = fileURLToPath(new URL('./thread.js', import.meta.url))

/**
 * The threads are started when they are needed. `config`: with the resolved address of MongoDB.
 * `entry`: another file in tests.
 */
export function documentThreads(config: Config, clock: Clock, entry = ENTRY): DocumentThreads {
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
  return {
    async make(subject, format, path, signal) {
      const task: DocumentThreadTask = { subject, format, path }
      try {
        const result = (await piscina.run(task, signal && { signal })) as DocumentResult
        if (!('expected' in result)) throw errorOf(result)
        return result.expected === null ? null : unpackedInvoice(result.expected)
      } catch (error) {
        if (signal?.aborted) throw new ReadCancelledError(`${nameOf(subject)}: cancelled`)
        const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
        throw isTooLarge ? new BillingError(`${nameOf(subject)} ${TOO_LARGE}`) : error
      }
    },
    close: () => piscina.destroy(),
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
  if (kind === 'refused') return new BillingError(message)
  return new CustomerSystemError(kind, message)
}
