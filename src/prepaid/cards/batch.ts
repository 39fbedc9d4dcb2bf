/** Creates batches of prepaid cards. Only the file for the printer has their random secrets. */
import { randomInt } from 'node:crypto'
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises'
import type { CardDocument } from '../../catalog/records/card.ts'
import type { CardSecrets } from '../../catalog/sealing/card-secrets.ts'
import { EntityRuleError } from '../../requests/errors.ts'
import { type PrintedCards, PrinterFile, SECRET_DIGITS } from './printer-file.ts'
import { cardKey } from './redeem.ts'
import { CardExistsError, type CardStores, createCards, deleteCards } from './store.ts'

export interface BatchOrder extends PrintedCards, Pick<CardDocument, 'additional_information'> {
  /** Path of the file; it must not exist. */
  readonly file: string
  /** Whether an interrupted creation with the same order is continued. */
  readonly isContinued: boolean
}

export interface BatchParts extends CardStores {
  readonly secrets: CardSecrets
  readonly timeZone: string
  /** Called at the begin and after each part with the number of cards that have been created. */
  onProgress?(created: number): void
}

/** Cards of one transaction. */
const PART = 1_000
const MODE = 0o600
/** `randomInt` allows no larger range. */
const HALF_DIGITS = SECRET_DIGITS / 2
/** A secret that exists already is rare among 10^12: after so many the cause must be another. */
const DRAWS_MAX = 20

/** The file until all cards exist. */
interface Draft {
  readonly path: string
  readonly form: PrinterFile
  /** Open for appending. */
  readonly handle: FileHandle
  /** Cards that exist and have their secrets in it. */
  created: number
  /** Bytes of the header and of their rows. */
  length: number
}

/**
 * Creates the cards in state `Idle`, and the file with their secrets, readable by its owner only.
 * It is `FILE.part` until all cards exist. The secrets of each part are in it before its cards are
 * stored: a process that is killed leaves no card with an unknown secret, and `isContinued` creates
 * the cards that are missing. A refused order (`EntityRuleError`) leaves neither cards nor a file,
 * unless it was continued; after other errors it can be continued. Rejects with errors of
 * `createCards` or of the file system.
 */
export async function createBatch(parts: BatchParts, order: BatchOrder): Promise<void> {
  const { file, isContinued } = order
  await refuseExisting(file, 'it may have the secrets of other cards')
  const draft = await (isContinued ? reopenDraft(parts, order) : newDraft(parts, order))
  try {
    await writeCards(parts, order, draft)
    await checkDraft(parts, order, draft)
    await rename(draft.path, file)
  } catch (error) {
    const isRefused = error instanceof EntityRuleError && !isContinued
    if (isRefused && (await removeCreated(parts, order, draft.created))) {
      await rm(draft.path, { force: true })
    }
    throw error
  } finally {
    await draft.handle.close()
  }
}

async function refuseExisting(path: string, why: string): Promise<void> {
  const found = await stat(path).catch(() => null)
  if (found !== null) throw new EntityRuleError(`${path} exists already: ${why}`, 'refused')
}

function draftOf(file: string): string {
  return `${file}.part`
}

async function newDraft({ timeZone }: BatchParts, order: BatchOrder): Promise<Draft> {
  const path = draftOf(order.file)
  await refuseExisting(path, 'its creation was interrupted (--continue), or still runs')
  const handle = await open(path, 'ax', MODE)
  return begun({ path, form: new PrinterFile(order, timeZone), handle })
}

async function begun(draft: Pick<Draft, 'path' | 'form' | 'handle'>): Promise<Draft> {
  await draft.handle.appendFile(PrinterFile.header)
  return { ...draft, created: 0, length: Buffer.byteLength(PrinterFile.header) }
}

/** Rows whose cards are not stored are removed: their secrets are drawn again. */
async function reopenDraft(parts: BatchParts, order: BatchOrder): Promise<Draft> {
  const path = draftOf(order.file)
  const form = new PrinterFile(order, parts.timeZone)
  const secrets = await secretsIn(path, form)
  if (secrets === null)
    throw new EntityRuleError(`${path} is not the file of these cards`, 'refused')
  const created = await countStored(parts, order, secrets)
  await refuseCardsAfter(parts, order, created)
  const handle = await open(path, 'a')
  await handle.chmod(MODE)
  if (created === 0) {
    await handle.truncate(0)
    return begun({ path, form, handle })
  }
  const length = Buffer.byteLength(PrinterFile.header + form.rows(0, secrets.slice(0, created)))
  await handle.truncate(length)
  return { path, form, handle, created, length }
}

/** The rows that are removed may have their secrets. */
async function refuseCardsAfter(
  { catalog }: BatchParts,
  { batch_number, firstSerial, count }: BatchOrder,
  created: number,
): Promise<void> {
  const serial_number = { $gte: firstSerial + created, $lt: firstSerial + count }
  const found = await catalog.cards.findOne({ batch_number, serial_number })
  if (found !== null) throw new CardExistsError(`card ${cardKey(found)}`, false)
}

async function secretsIn(path: string, form: PrinterFile): Promise<string[] | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    throw new EntityRuleError(`there is no ${path} to continue`, 'refused')
  })
  return form.secretsIn(text)
}

/** How many of the first secrets are those of the stored cards with their serial numbers. */
async function countStored(
  parts: BatchParts,
  order: BatchOrder,
  secrets: readonly string[],
): Promise<number> {
  for (let first = 0; first < secrets.length; first += PART) {
    const part = secrets.slice(first, first + PART)
    const isStored = await areStored(parts, order, first, part)
    const other = isStored.indexOf(false)
    if (other !== -1) return first + other
  }
  return secrets.length
}

async function areStored(
  { catalog, secrets }: BatchParts,
  { batch_number, firstSerial }: BatchOrder,
  first: number,
  part: readonly string[],
): Promise<boolean[]> {
  const from = firstSerial + first
  const range = { batch_number, serial_number: { $gte: from, $lt: from + part.length } }
  const projection = { serial_number: 1, secret_hmac: 1 } as const
  const found = await catalog.cards.find(range, { projection }).toArray()
  const stored = new Map(found.map((card) => [card.serial_number, card.secret_hmac]))
  const digests = await secrets.digests(part)
  return digests.map((digest, index) => stored.get(from + index) === digest)
}

async function writeCards(parts: BatchParts, order: BatchOrder, draft: Draft): Promise<void> {
  parts.onProgress?.(draft.created)
  while (draft.created < order.count) {
    await createPart(parts, order, draft, Math.min(PART, order.count - draft.created))
    parts.onProgress?.(draft.created)
  }
}

async function createPart(
  parts: BatchParts,
  order: BatchOrder,
  draft: Draft,
  size: number,
): Promise<void> {
  for (let draw = 1; ; draw += 1) {
    const drawn = Array.from({ length: size }, drawSecret)
    const digests = await parts.secrets.digests(drawn)
    const rows = draft.form.rows(draft.created, drawn)
    await draft.handle.appendFile(rows)
    await draft.handle.datasync()
    try {
      await createCards(parts, cardsOf(parts, order, draft.created, digests))
    } catch (error) {
      const isDrawnAgain = error instanceof CardExistsError && error.isSecret
      if (!isDrawnAgain || draw === DRAWS_MAX) throw error
      await draft.handle.truncate(draft.length)
      continue
    }
    draft.created += size
    draft.length += Buffer.byteLength(rows)
    return
  }
}

function cardsOf(
  { nowMs }: BatchParts,
  order: BatchOrder,
  first: number,
  digests: readonly string[],
): CardDocument[] {
  const { batch_number, charging_plan_name, service_provider, to } = order
  return digests.map((secret_hmac, index) => {
    return {
      secret_hmac,
      batch_number,
      serial_number: order.firstSerial + first + index,
      charging_plan_name,
      service_provider,
      to,
      status: 'Idle',
      creation_time: new Date(nowMs),
      additional_information: order.additional_information,
    }
  })
}

/** Cards are useless without their secrets: two processes may have written the same file. */
async function checkDraft(
  parts: BatchParts,
  order: BatchOrder,
  { path, form }: Draft,
): Promise<void> {
  const secrets = (await secretsIn(path, form)) ?? []
  const stored = await countStored(parts, order, secrets)
  if (stored === order.count) return
  throw new EntityRuleError(
    `${path} was changed by another process: it lacks secrets of the cards`,
    'refused',
  )
}

/** False if they could not be removed. */
async function removeCreated(
  parts: BatchParts,
  { batch_number, firstSerial }: BatchOrder,
  created: number,
): Promise<boolean> {
  if (created === 0) return true
  const serialNumber = { from: firstSerial, to: firstSerial + created - 1 }
  const query = { batchNumber: batch_number, serialNumber, status: 'Idle' } as const
  try {
    await deleteCards(parts, query)
    return true
  } catch {
    return false
  }
}

function drawSecret(): string {
  const half = () => String(randomInt(10 ** HALF_DIGITS)).padStart(HALF_DIGITS, '0')
  return half() + half()
}
