/** The commands of the embedded MongoDB server, executed without a connection. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BSON, type Document } from 'bson'
import { Cursors } from '../../src/commands/cursors.ts'
import { dispatch } from '../../src/commands/dispatch.ts'
import { Turns } from '../../src/commands/turns.ts'
import { Connection } from '../../src/sessions/clients.ts'
import { Sessions } from '../../src/sessions/sessions.ts'
import { entryKey, keysOf, recordBytes } from '../../src/store/index-keys.ts'
import { openStore } from '../../src/store/open.ts'
import type { Records } from '../../src/store/records.ts'
import type { Storage } from '../../src/store/storage.ts'

const NOW_MS = 1_700_000_000_000

/** Documents sent as a sequence are in their received bytes, those in a command are decoded. */
export type DirectServer = {
  readonly records: Records
  readonly storage: Storage
  /** Runs a command; `sequence` is the field whose documents, given as bytes, are a sequence. */
  run(
    command: Document,
    sequence?: { field: string; docs: readonly Buffer[] },
    database?: string,
  ): Promise<Document>
  /** The bytes of all documents and index entries of a collection, in stored order. */
  content(ns: string): { documents: string[]; entries: string[] }
  /** The entries that the indexes of a collection should have, from its decoded documents. */
  expectedEntries(ns: string): string[]
  close(): Promise<void>
}

export async function openDirectServer(): Promise<DirectServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tg-direct-'))
  const store = await openStore(folder)
  const { storage, catalog, records } = store
  const clock = { nowMs: () => NOW_MS }
  const turns = new Turns()
  const services = {
    ...store,
    clock,
    cursors: new Cursors(() => NOW_MS, turns),
    turns,
    sessions: new Sessions(store, () => NOW_MS),
    address: 'direct.sock',
  }
  const origin = { connection: new Connection(1), isAbandoned: () => false }
  const fail = (error: unknown) => {
    throw error
  }
  return {
    records,
    storage,
    async run(command, sequence, database = 'd') {
      const request = {
        requestId: 1,
        form: 'msg' as const,
        isUnacknowledged: false,
        body: BSON.serialize({ ...command, $db: database }),
        sequences: new Map(sequence ? [[sequence.field, sequence.docs]] : []),
        database: undefined,
      }
      const answer = await dispatch({ ...services, ...origin }, request, fail)
      return BSON.deserialize(answer, { promoteValues: false })
    },
    content(ns) {
      const collection = catalog.find(ns)
      const documents: string[] = []
      const entries: string[] = []
      for (const row of collection ? records.scan(collection) : []) {
        if (row) documents.push(`${row.record} ${row.bytes.toString('hex')}`)
      }
      const all = { start: Buffer.from([0]), end: Buffer.alloc(8, 0xff) }
      for (const entry of storage.walk(storage.entries, all)) {
        if (entry) entries.push(`${entry.key.toString('hex')} ${entry.value.toString('hex')}`)
      }
      return { documents, entries }
    },
    expectedEntries(ns) {
      const collection = catalog.find(ns)
      const entries: string[] = []
      for (const row of collection ? records.scan(collection) : []) {
        for (const index of (row && collection?.indexes) ?? []) {
          for (const key of keysOf(index, row!.doc).keys) {
            const value = recordBytes(row!.record).toString('hex')
            entries.push(`${entryKey(index, key, row!.record).toString('hex')} ${value}`)
          }
        }
      }
      return entries.sort()
    },
    async close() {
      await storage.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
