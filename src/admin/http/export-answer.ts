/** Export over HTTP: a stream that ends when the client disconnects. */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { isAway } from '../../catalog/patience.ts'
import { repeatingReads } from '../../catalog/repeating-reads.ts'
import { contextOf, type EntityApi, type EntityCall } from '../../entities/api.ts'
import { exportHeaders, exportRequestOf } from '../../entities/export/export-request.ts'
import { exportRows } from '../../entities/export/export-rows.ts'
import { recordRead } from '../../entities/read-records.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'

/** Throws `ApiError` or errors of the store until the first byte is sent. */
export async function sendExport(
  { batch }: Pick<EntityApi, 'batch'>,
  called: Pick<EntityCall, 'definition' | 'action' | 'caller'>,
  raw: RawParameters,
  reply: FastifyReply,
  signal: AbortSignal,
): Promise<FastifyReply> {
  const request = { ...exportRequestOf(raw, await contextOf(batch, called)), signal }
  const done = { ...called, filter: request.filter, rows: null }
  await recordRead(batch.stores, called.caller, done)
  const { catalog } = batch.stores
  const patience = { ...catalog.patience, signal }
  const pages = exportRows(repeatingReads(catalog, patience, isAway), request)
  // Errors of the store must be known before the first byte is sent.
  const first = await pages.next()
  const rest = async function* () {
    try {
      if (first.done !== true) yield first.value
      yield* pages
    } finally {
      await pages.return(undefined)
    }
  }
  reply.headers(exportHeaders(raw, request))
  return reply.send(Readable.from(rest(), { objectMode: false }))
}
