/** Imports the cards of an existing system, as documents of its collection `cards`. */
import { type CardDocument, USABLE_CARDS } from '../../catalog/records/card.ts'
import { type CardSecrets, hashOf } from '../../catalog/sealing/card-secrets.ts'
import { FieldError, type Fields, isUnset, objectAt, textAt, wholeAt } from '../../domain/fields.ts'
import { parseInstant } from '../../domain/time.ts'
import { plainValue } from '../../entities/import/extended-json.ts'
import { EntityRuleError } from '../../requests/errors.ts'
import { cardKey } from './redeem.ts'
import { STATUS_NAMES, statusOf } from './states.ts'
import { type CardStores, insertCards, refuseUnknownPlans, storedCards } from './store.ts'

export interface CardRow {
  /** Number of the row in the file. */
  readonly row: number
  readonly value: unknown
}

export interface ImportedCards {
  /** Cards that are stored now, also those that had been imported before. */
  readonly imported: number
  readonly failed: readonly { readonly row: number; readonly text: string }[]
}

export interface CardImport extends CardStores {
  readonly secrets: CardSecrets
  readonly timeZone: string
  /** Checks, and writes nothing. */
  readonly isDry: boolean
}

interface ReadCard {
  readonly row: number
  /** SHA-512 of the secret, in hexadecimal. */
  readonly hash: string
  readonly card: Omit<CardDocument, 'secret_hmac'>
}

type Failures = Map<number, string>

/**
 * Rows that are invalid, or whose secret or numbers another card has, fail; the others are stored
 * in one transaction. A card that was imported before stays as it is. Rejects with
 * `EntityRuleError` if another process creates one of the cards at the same time.
 */
export async function importCards(
  parts: CardImport,
  rows: readonly CardRow[],
): Promise<ImportedCards> {
  const failed: Failures = new Map()
  const read = await readCards(parts, rows, failed)
  const digests = await parts.secrets.digestsOfHashes(read.map(({ hash }) => hash))
  const cards = read.map(({ row, card }, index): [number, CardDocument] => {
    return [row, { secret_hmac: String(digests[index]), ...card }]
  })
  const { added, known } = await withoutKnown(parts, cards, failed)
  if (!parts.isDry && added.length > 0) await insertCards(parts, added, 'import')
  const failures = [...failed].map(([row, text]) => ({ row, text }))
  return {
    imported: added.length + known,
    failed: failures.sort((one, other) => one.row - other.row),
  }
}

async function readCards(
  parts: CardImport,
  rows: readonly CardRow[],
  failed: Failures,
): Promise<ReadCard[]> {
  const read: ReadCard[] = []
  const refusals = new Map<string, string | null>()
  for (const { row, value } of rows) {
    try {
      const found = importedCard(value, parts)
      const refusal = await refusalOf(parts, found.card, refusals)
      if (refusal === null) read.push({ row, ...found })
      else failed.set(row, refusal)
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      failed.set(row, error.message)
    }
  }
  return read
}

/** Why its charging plan is refused; null if it is not. Cards that are not usable need none. */
async function refusalOf(
  { catalog, nowMs }: CardImport,
  card: ReadCard['card'],
  refusals: Map<string, string | null>,
): Promise<string | null> {
  if (!USABLE_CARDS.includes(card.status)) return null
  const { charging_plan_name: name } = card
  const known = refusals.get(name)
  if (known !== undefined) return known
  const refusal = await refuseUnknownPlans(catalog, [card], nowMs).then(
    () => null,
    (error: unknown) => {
      if (error instanceof EntityRuleError) return error.message
      throw error
    },
  )
  refusals.set(name, refusal)
  return refusal
}

/** Throws `FieldError`. */
function importedCard(row: unknown, { timeZone, nowMs }: CardImport): Omit<ReadCard, 'row'> {
  const fields = objectAt(plainValue(row), '')
  const to = dateIn(fields, 'to', timeZone)
  if (to === undefined) throw new FieldError('to', 'is missing', 'missing')
  const created = dateIn(fields, 'creation_time', timeZone)
  const activated = dateIn(fields, 'activation_datetime', timeZone)
  const expired = dateIn(fields, 'expired_on', timeZone)
  const status = statusOf(fields['status'])
  if (status === null) {
    throw new FieldError('status', `must be one of ${STATUS_NAMES.join(', ')}`)
  }
  return {
    hash: hashIn(fields),
    card: {
      batch_number: wholeAt(fields['batch_number'], 'batch_number', 1),
      serial_number: wholeAt(fields['serial_number'], 'serial_number', 1),
      charging_plan_name: textAt(fields['charging_plan_name'], 'charging_plan_name'),
      service_provider: textAt(fields['service_provider'], 'service_provider'),
      to,
      status,
      creation_time: created ?? new Date(nowMs),
      additional_information: informationIn(fields),
      ...(!isUnset(fields['sid']) && { sid: wholeAt(fields['sid'], 'sid', 1) }),
      ...(activated !== undefined && { activation_datetime: activated }),
      ...(expired !== undefined && { expired_on: expired }),
    },
  }
}

/** The secret has 12 digits, or is the SHA-512 that existing systems store. */
function hashIn({ secret }: Fields): string {
  const text = String(secret ?? '')
  if (/^\d{12}$/.test(text)) return hashOf(text)
  if (/^[0-9a-f]{128}$/i.test(text)) return text.toLowerCase()
  throw new FieldError('secret', 'must have 12 digits, or be their SHA-512 in hexadecimal')
}

function informationIn({ additional_information: value }: Fields): string {
  return isUnset(value) ? '' : textAt(value, 'additional_information')
}

/** `zone`: of dates without one. */
function dateIn(fields: Fields, name: string, zone: string): Date | undefined {
  const value = fields[name]
  if (isUnset(value)) return undefined
  const atMs = parseInstant(String(value), zone)
  if (atMs === null) throw new FieldError(name, 'must be a date')
  return new Date(atMs)
}

/** The cards to be added, and the number of those that were imported before. */
async function withoutKnown(
  { catalog }: CardImport,
  cards: readonly [row: number, card: CardDocument][],
  failed: Failures,
): Promise<{ added: CardDocument[]; known: number }> {
  const stored = await storedCards(
    catalog,
    cards.map(([, card]) => card),
  )
  const before = new Map(stored.map((card) => [cardKey(card), card.secret_hmac]))
  const numbers = new Set(before.keys())
  const secrets = new Set(stored.map(({ secret_hmac }) => secret_hmac))
  const added: CardDocument[] = []
  let known = 0
  for (const [row, card] of cards) {
    const key = cardKey(card)
    const { secret_hmac: secret } = card
    if (before.get(key) === secret) known += 1
    else if (numbers.has(key)) failed.set(row, `card ${key} exists already`)
    else if (secrets.has(secret)) failed.set(row, 'a card with this secret exists already')
    else {
      numbers.add(key)
      secrets.add(secret)
      added.push(card)
    }
  }
  return { added, known }
}
