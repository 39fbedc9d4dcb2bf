/** Files of usage records, charged on real stores. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_PATIENCE } from '../../../src/catalog/patience.ts'
import type { IntakeFileDocument } from '../../../src/catalog/records/usage/intake-documents.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { RecordFileType } from '../../../src/file-types/records/record-files.ts'
import { type IntakeStores, takeFile } from '../../../src/intake/take-file.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { buildWorker, type ChargingWorker } from '../../../src/workers/build.ts'
import { insertEntity } from '../catalog/store.ts'
import { startTestStores, type TestStores, topUp } from '../recorder/accounts.ts'
import { CALLS } from './call-records.ts'

export const [AID, SID, MSISDN] = [17, 18, '972546918666'] as const
/** Units of data that the subscriber has. */
export const UNITS = 1_000_000

export interface IntakeScene {
  stores: TestStores
  worker: ChargingWorker
  intake: IntakeStores
  /** Writes a file and returns its path. */
  file(name: string, contents: string | Buffer): string
  take(
    path: string,
    more?: Partial<IntakeStores>,
    fileType?: RecordFileType,
  ): Promise<IntakeFileDocument>
  close(): Promise<void>
}

export async function openIntakeScene(): Promise<IntakeScene> {
  const folder = mkdtempSync(join(tmpdir(), 'tg-intake-'))
  const stores = await startTestStores()
  const { catalog, ledger, environment } = stores
  await insertEntity(catalog, 'subscribers', { msisdn: MSISDN })
  await insertEntity(catalog, 'plans')
  await insertEntity(catalog, 'rates')
  await insertEntity(catalog, 'taxes')
  await topUp(ledger, AID, SID, UNITS, 'first')
  const config = loadConfig({ env: environment })
  const worker = await buildWorker({ config, worker: 1 }, () => undefined)
  const intake: IntakeStores = {
    catalog,
    ledger,
    worker,
    clock: systemClock,
    replayMs: config.ledger.replayMs,
    eventFutureMsMax: config.rating.eventFutureMsMax,
    chunkRecords: 20,
    patience: { ...NO_PATIENCE, forMs: Number.POSITIVE_INFINITY },
  }
  return {
    stores,
    worker,
    intake,
    file(name, contents) {
      const path = join(folder, name)
      writeFileSync(path, contents)
      return path
    },
    take(path, more = {}, fileType = CALLS) {
      const name = path.slice(path.lastIndexOf('/') + 1)
      const given = { path, name, fileType }
      return takeFile({ ...intake, ...more }, given, () => undefined)
    },
    async close() {
      await worker.close()
      await stores.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
