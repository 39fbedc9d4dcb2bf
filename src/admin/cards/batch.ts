/** Creates batches of prepaid cards. Only the file for the printer has their random secrets. */
import { randomInt } from 'node:crypto'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { stringify } from 'csv-stringify/sync'
import type { CardDocument } from '../../catalog/entities/card.ts'
import type { CardSecrets } from '../../catalog/settings/card-secrets.ts'
import { EntityRuleError } from '../entities/errors.ts'
import { dateText } from '../entities/views.ts'
import { CardExistsError, type CardStores, createCards, deleteCards } from './store.ts'

export interface BatchOrder
  extends Pick<
    CardDocument,
    'batch_number' | 'charging_plan_name' | 'service_provider' | 'to' | 'additional_information'
  > {
  readonly count: number
  /** Serial number of the first card. */
  readonly firstSerial: number
  /** Path of the file; it must not exist. */
  readonly file: string
}

export interface BatchParts extends CardStores {
  readonly secrets: CardSecrets
  readonly timeZone: string
  /** Called with the number of cards that have been created. */
  onProgress?(created: number): void
}

/** Cards of one transaction. */
const PART = 1_000
const SECRET_DIGITS = 12
/** `randomInt` allows no larger range. */
const HALF_DIGITS = SECRET_DIGITS / 2
/** A secret that exists already is rare among 10^12: after so many the cause must be another. */
const DRAWS_MAX = 20

const COLUMNS = [
  'batch_number',
  'serial_number',
  'secret',
  'charging_plan_name',
  'service_provider',
  'to',
] as const

/**
 * Creates the cards in state `Idle`, and the file with their secrets: CSV with a header, readable
 * by its owner only. The file gets its name when all cards exist; after an error there are neither
 * cards nor a file. Rejects with errors of `createCards` or of the file system.
 */
export async function createBatch(parts: BatchParts, order: BatchOrder): Promise<void> {
  const { file } = order
  await refuseExisting(file)
  const draft = `${file}.part`
  const handle = await open(draft, 'wx', 0o600)
  const progress = { created: 0 }
  try {
    await handle.write(`${COLUMNS.join(',')}\n`)
    await writeCards(parts, order, handle, progress)
    await handle.sync()
    await rename(draft, file)
  } catch (error) {
    await removeCreated(parts, order, progress.created)
    await rm(draft, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** It may have the secrets of other cards. */
async function refuseExisting(file: string): Promise<void> {
  const found = await stat(file).catch(() => null)
  if (found !== null) throw new EntityRuleError(`${file} exists already`)
}

async function writeCards(
  parts: BatchParts,
  order: BatchOrder,
  handle: FileHandle,
  progress: { created: number },
): Promise<void> {
  while (progress.created < order.count) {
    const size = Math.min(PART, order.count - progress.created)
    const rows = await createPart(parts, order, order.firstSerial + progress.created, size)
    progress.created += size
    await handle.write(stringify(rows))
    parts.onProgress?.(progress.created)
  }
}

/** Cards without a known secret are useless. If they cannot be removed, they stay `Idle`. */
async function removeCreated(
  parts: BatchParts,
  { batch_number, firstSerial }: BatchOrder,
  created: number,
): Promise<void> {
  if (created === 0) return
  const serialNumber = { from: firstSerial, to: firstSerial + created - 1 }
  const query = { batchNumber: batch_number, serialNumber, status: 'Idle' } as const
  await deleteCards(parts, query).catch(() => undefined)
}

async function createPart(
  parts: BatchParts,
  order: BatchOrder,
  firstSerial: number,
  size: number,
): Promise<unknown[][]> {
  const { nowMs, secrets, timeZone } = parts
  const { batch_number, charging_plan_name, service_provider, to } = order
  for (let draw = 1; ; draw += 1) {
    const drawn = Array.from({ length: size }, drawSecret)
    const digests = await secrets.digests(drawn)
    const cards = digests.map((secret_hmac, index): CardDocument => {
      return {
        secret_hmac,
        batch_number,
        serial_number: firstSerial + index,
        charging_plan_name,
        service_provider,
        to,
        status: 'Idle',
        creation_time: new Date(nowMs),
        additional_information: order.additional_information,
      }
    })
    try {
      await createCards(parts, cards)
    } catch (error) {
      const isDrawnAgain = error instanceof CardExistsError && error.isSecret
      if (!isDrawnAgain || draw === DRAWS_MAX) throw error
      continue
    }
    const end = dateText(to.getTime(), timeZone)
    return drawn.map((secret, index) => {
      return [batch_number, firstSerial + index, secret, charging_plan_name, service_provider, end]
    })
  }
}

function drawSecret(): string {
  const half = () => String(randomInt(10 ** HALF_DIGITS)).padStart(HALF_DIGITS, '0')
  return half() + half()
}
