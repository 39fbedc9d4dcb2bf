/** Entry of the threads that make documents (piscina). */
import { workerData } from 'node:worker_threads'
import { openCatalog } from '../../catalog/connection.ts'
import { CatalogUnavailableError, SlowReadError } from '../../catalog/errors.ts'
import { packedInvoice } from '../../catalog/records/money/invoice-document.ts'
import type { Config } from '../../config/schema.ts'
import { CustomerSystemError } from '../../external/customers/errors.ts'
import { type ClockOffset, clockWith } from '../../runtime/clock.ts'
import { computeAccount } from '../cycle/compute.ts'
import { CycleError } from '../cycle/input.ts'
import type { DocumentFormat, DocumentSubject, MakeDocument } from '../documents/documents.ts'
import { EInvoiceError, NothingToInvoiceError } from '../documents/errors.ts'
import { documentMaker } from '../documents/make.ts'
import { BillingError } from '../errors.ts'
import { expectedSource } from './expected.ts'
import { createAccounts } from './open-accounts.ts'
import { AccountInputError } from './read-accounts.ts'

export interface DocumentThreadData {
  readonly config: Config
  /** Offset of the installation's clock. */
  readonly ahead: ClockOffset | undefined
}

export interface DocumentThreadTask {
  readonly subject: DocumentSubject
  readonly format: DocumentFormat
  readonly path: string
}

/** The expected invoice, null for a stored one. */
export type DocumentResult = { readonly expected: Uint8Array | null } | DocumentFailure

export interface DocumentFailure {
  readonly kind: 'outage' | 'e-invoice' | 'nothing' | 'refused' | CustomerSystemError['kind']
  readonly message: string
}

const { config, ahead } = (workerData ?? {}) as DocumentThreadData

const CONNECTIONS_MAX = 2

let opened: Promise<MakeDocument> | null = null

/** Once the file is complete, or cannot be made. */
export async function makeInThread({
  subject,
  format,
  path,
}: DocumentThreadTask): Promise<DocumentResult> {
  try {
    opened ??= open().catch((error: unknown) => {
      // MongoDB may be available for the next document.
      opened = null
      throw error
    })
    const expected = await (await opened)(subject, format, path)
    return { expected: expected === null ? null : packedInvoice(expected) }
  } catch (error) {
    const failure = failureOf(error)
    if (failure === null) throw error
    return failure
  }
}

async function open(): Promise<MakeDocument> {
  const catalog = await openCatalog({
    ...config.mongo,
    appName: 'tollgate-documents',
    readTimeoutMs: config.entities.readTimeoutMs,
    connectionsMax: CONNECTIONS_MAX,
  })
  const { openAccounts } = createAccounts(catalog, config, clockWith(ahead))
  const deps = { catalog, config, openAccounts }
  return documentMaker({
    ...deps,
    expect: (expectation) => expectedSource(deps, computeAccount, expectation),
  })
}

/** Errors lose their class between threads. Null for a defect. */
function failureOf(error: unknown): DocumentFailure | null {
  if (error instanceof CustomerSystemError) return { kind: error.kind, message: error.reason }
  if (!(error instanceof Error)) return null
  const { message } = error
  if (error instanceof CatalogUnavailableError) return { kind: 'outage', message }
  if (error instanceof SlowReadError) return { kind: 'outage', message }
  if (error instanceof EInvoiceError) return { kind: 'e-invoice', message }
  if (error instanceof NothingToInvoiceError) return { kind: 'nothing', message }
  const isRefused = [BillingError, CycleError, AccountInputError].some((of) => error instanceof of)
  return isRefused ? { kind: 'refused', message } : null
}
