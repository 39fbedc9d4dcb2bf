/** The result of a batch as a message from a worker thread (worker-protocol.ts). */
import {
  type BalanceReport,
  type ChargeOutcome,
  type PartGrant,
  type Quote,
  type Reason,
  reasons,
  type ServiceAction,
  type ServiceOutcome,
} from './charge-outcome.ts'
import { type Packed, TaskReader, TaskWriter } from './packed-values.ts'
import type { WorkerResult } from './worker-task.ts'

export interface PackedResult extends Packed {
  /** Cloned, because quotes are rare and deeply nested. */
  quotes: Quote[]
  stats: Record<string, number>
}

/** Shared by the thread, since a batch is written synchronously. */
const writer = new TaskWriter()

const REASONS = Object.keys(reasons) as Reason[]
const REASON_NUMBERS = new Map(REASONS.map((reason, index) => [reason, index]))
/** Written instead of a reason if there is no outcome. */
const NO_OUTCOME = -1
/** Written instead of a length for null. */
const NULL = -1

/** Flags of the outcome of a service. */
const [FINAL_UNIT, QUOTE, OF_IDENTIFIER, PART_GRANTS] = [1, 2, 4, 8] as const
const [REDIRECT, THROTTLE] = [16, 32] as const

export function packResult({ outcomes, stats }: WorkerResult): PackedResult {
  writer.begin()
  const quotes: Quote[] = []
  writer.number(outcomes.length)
  for (let index = 0; index < outcomes.length; index += 1) {
    const outcome = outcomes[index] as ChargeOutcome | null
    if (outcome === null) writer.number(NO_OUTCOME)
    else writeOutcome(outcome, quotes)
  }
  return { numbers: writer.numbers(), texts: writer.texts, quotes, stats }
}

export function unpackResult(packed: PackedResult): WorkerResult {
  const reader = new TaskReader(packed)
  const { quotes, stats } = packed
  const count = reader.number()
  const outcomes: (ChargeOutcome | null)[] = []
  let quotesRead = 0
  const nextQuote = () => quotes[quotesRead++] as Quote
  for (let index = 0; index < count; index += 1) outcomes.push(readOutcome(reader, nextQuote))
  return { outcomes, stats }
}

function writeOutcome(outcome: ChargeOutcome, quotes: Quote[]): void {
  const { services, balances } = outcome
  writer.number(REASON_NUMBERS.get(outcome.reason) as number)
  writer.name(outcome.detail)
  writer.number(outcome.aid)
  writer.number(outcome.sid)
  writer.text(outcome.transactionId)
  writer.number(outcome.cost)
  writer.number(services.length)
  for (let index = 0; index < services.length; index += 1) {
    writeServiceOutcome(services[index] as ServiceOutcome, quotes)
  }
  writer.number(balances === null ? NULL : balances.length)
  if (balances !== null) for (const balance of balances) writeBalance(balance)
}

function readOutcome(reader: TaskReader, nextQuote: () => Quote): ChargeOutcome | null {
  const reason = reader.number()
  if (reason === NO_OUTCOME) return null
  const detail = reader.text()
  const aid = reader.number()
  const sid = reader.number()
  const transactionId = reader.text()
  const cost = reader.number()
  const count = reader.number()
  const services: ServiceOutcome[] = []
  for (let index = 0; index < count; index += 1) {
    services.push(readServiceOutcome(reader, nextQuote))
  }
  const balances = readBalances(reader)
  return {
    reason: REASONS[reason] as Reason,
    detail,
    aid,
    sid,
    transactionId,
    services,
    cost,
    balances,
  }
}

function writeServiceOutcome(service: ServiceOutcome, quotes: Quote[]): void {
  const { quote, serviceIdentifier, parts, action } = service
  if (quote !== null) quotes.push(quote)
  let bits = (service.finalUnit ? FINAL_UNIT : 0) + (quote === null ? 0 : QUOTE)
  if (serviceIdentifier !== '') bits += OF_IDENTIFIER
  if (parts !== null) bits += PART_GRANTS
  if (action !== null) bits += action.type === 'redirect' ? REDIRECT : THROTTLE
  writer.number(bits)
  writer.number(service.ratingGroup)
  if (serviceIdentifier !== '') writer.name(serviceIdentifier)
  writer.name(service.usaget)
  writer.number(REASON_NUMBERS.get(service.reason) as number)
  writer.number(service.granted)
  if (parts !== null) writePartGrants(parts)
  writer.number(service.validityMs)
  writer.number(service.tariffChangeMs)
  writer.number(service.cost)
  if (action !== null) writer.name(action.type === 'redirect' ? action.address : action.policy)
}

function writePartGrants(parts: readonly PartGrant[]): void {
  writer.number(parts.length)
  for (const { usaget, granted } of parts) {
    writer.name(usaget)
    writer.number(granted)
  }
}

function readPartGrants(reader: TaskReader): PartGrant[] {
  const count = reader.number()
  const parts: PartGrant[] = []
  for (let index = 0; index < count; index += 1) {
    parts.push({ usaget: reader.text(), granted: reader.number() })
  }
  return parts
}

function readServiceOutcome(reader: TaskReader, nextQuote: () => Quote): ServiceOutcome {
  const bits = reader.number()
  const ratingGroup = reader.number()
  const serviceIdentifier = bits & OF_IDENTIFIER ? reader.text() : ''
  const usaget = reader.text()
  const reason = REASONS[reader.number()] as Reason
  const granted = reader.number()
  const parts = bits & PART_GRANTS ? readPartGrants(reader) : null
  const validityMs = reader.number()
  const tariffChangeMs = reader.number()
  const cost = reader.number()
  return {
    ratingGroup,
    serviceIdentifier,
    usaget,
    reason,
    granted,
    parts,
    validityMs,
    tariffChangeMs,
    finalUnit: (bits & FINAL_UNIT) !== 0,
    action: readAction(reader, bits),
    cost,
    quote: (bits & QUOTE) === 0 ? null : nextQuote(),
  }
}

function readAction(reader: TaskReader, bits: number): ServiceAction | null {
  if (bits & REDIRECT) return { type: 'redirect', address: reader.text() }
  return bits & THROTTLE ? { type: 'throttle', policy: reader.text() } : null
}

function writeBalance(balance: BalanceReport): void {
  writer.number(balance.prepaidIncludeId)
  writer.number(balance.kind === 'units' ? 0 : 1)
  writer.name(balance.usaget)
  writer.name(balance.counter)
  writer.number(balance.free)
  writer.number(balance.reserved)
  writer.number(balance.toMs)
  writer.number(balance.debt)
}

function readBalances(reader: TaskReader): BalanceReport[] | null {
  const count = reader.number()
  if (count === NULL) return null
  const balances: BalanceReport[] = []
  for (let index = 0; index < count; index += 1) {
    const prepaidIncludeId = reader.number()
    const kind = reader.number() === 0 ? 'units' : 'money'
    const usaget = reader.text()
    const counter = reader.text()
    const free = reader.number()
    const reserved = reader.number()
    const toMs = reader.number()
    const debt = reader.number()
    balances.push({ prepaidIncludeId, kind, usaget, counter, free, reserved, toMs, debt })
  }
  return balances
}
