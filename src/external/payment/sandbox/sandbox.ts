/** The built-in gateway: simulates a payment provider, with its answers chosen by card number. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Static, Type } from '@sinclair/typebox'
import { expiryOf } from '../expiry.ts'
import {
  ForgedReturnError,
  type GatewayCharge,
  type GatewayOutcome,
  GatewayRefusedError,
  GatewayUnansweredError,
  type PaymentGateway,
  type SavedCard,
  type TokenOutcome,
  type TokenReturn,
} from '../gateway.ts'
import { secret, timeoutSeconds } from '../params.ts'
import { behaviourOf, type SandboxBehaviour } from './cards.ts'

export interface SandboxSettings {
  /** Key of the signatures of returns. */
  readonly secret: string
  readonly pendingMs: number
  readonly slowMs: number
  readonly timeoutMs: number
}

/** The memory of the simulated provider: pages, cards and charges, by id. */
export interface SandboxStore {
  /** Stores the record unless there is one with this id; returns the stored one. */
  add(id: string, record: SandboxRecord): Promise<SandboxRecord>
  find(id: string): Promise<SandboxRecord | null>
  /** Replaces a record in this state; false if it has another one. */
  replace(id: string, state: string, record: SandboxRecord): Promise<boolean>
}

export interface SandboxRecord {
  readonly kind: 'page' | 'card' | 'charge'
  readonly state: string
  readonly madeMs: number
  readonly fields: Readonly<Record<string, string | number>>
}

export interface SandboxGateway extends PaymentGateway {
  /** Content of the hosted page; null if there is no such page. */
  page(reference: string, nowMs: number): Promise<SandboxPage | null>
  /** An address to which the page returns, or the reason why the entry is refused. */
  submit(
    reference: string,
    form: ReadonlyMap<string, string>,
    nowMs: number,
  ): Promise<{ readonly url: string } | { readonly problem: string }>
}

export interface SandboxPage {
  readonly state: 'open' | 'expired' | 'used'
  readonly aid: number
}

const SandboxParams = Type.Object(
  {
    secret: Type.Optional(secret),
    pending_minutes: Type.Integer({
      minimum: 0,
      maximum: 100_000,
      default: 10,
      description: 'a whole number of minutes',
    }),
    slow_seconds: Type.Integer({
      minimum: 0,
      maximum: 600,
      default: 60,
      description: 'a whole number of seconds',
    }),
    timeout_seconds: timeoutSeconds,
  },
  {
    additionalProperties: false,
    description: 'an object of secret, pending_minutes, slow_seconds, timeout_seconds',
  },
)

const SECOND_MS = 1000

export const SANDBOX = {
  about: 'Simulated gateway with a page of its own; moves no money.',
  schema: SandboxParams,
  secrets: ['secret'],
  generated: ['secret'],
  isLive: () => false,
  create(
    name: string,
    { secret = '', ...params }: Static<typeof SandboxParams>,
    { sandboxStore }: { readonly sandboxStore: SandboxStore },
  ): SandboxGateway {
    const pendingMs = params.pending_minutes * 60 * SECOND_MS
    const slowMs = params.slow_seconds * SECOND_MS
    const timeoutMs = params.timeout_seconds * SECOND_MS
    return createSandbox(name, { secret, pendingMs, slowMs, timeoutMs }, sandboxStore)
  },
}

export function createSandbox(
  name: string,
  settings: SandboxSettings,
  store: SandboxStore,
): SandboxGateway {
  return {
    name,
    async startTokenization({ reference, aid, returnUrl, baseUrl, nowMs, expiresMs }) {
      const fields = { aid, returnUrl, expiresMs }
      await store.add(pageId(reference), { kind: 'page', state: 'open', madeMs: nowMs, fields })
      return { url: `${baseUrl}/paymentgateways/sandbox/${reference}`, session: reference }
    },
    finishTokenization: (returned) => finish(settings, store, returned),
    charge: (request) => charge(settings, store, request),
    async query({ key, nowMs }) {
      const found = await store.find(chargeId(key))
      return found === null ? 'absent' : outcomeOf(found, settings, nowMs)
    },
    async refund({ key, reference, amount, nowMs }) {
      const fields = { reference, amount, behaviour: 'completed' }
      const record = { kind: 'charge', state: 'refund', madeMs: nowMs, fields } as const
      return outcomeOf(await store.add(chargeId(key), record), settings, nowMs)
    },
    // All outcomes are asked for.
    readNotification: async () => null,
    async page(reference, nowMs) {
      const found = await store.find(pageId(reference))
      return found === null ? null : pageState(found, nowMs)
    },
    submit: (reference, form, nowMs) => submit(settings, store, { reference, form, nowMs }),
  }
}

const pageId = (reference: string) => `page/${reference}`
const cardId = (token: string) => `card/${token}`
const chargeId = (key: string) => `charge/${key}`

function pageState({ state, fields }: SandboxRecord, nowMs: number): SandboxPage {
  const isExpired = nowMs >= Number(fields['expiresMs'])
  const view = state !== 'open' ? 'used' : isExpired ? 'expired' : 'open'
  return { state: view, aid: Number(fields['aid']) }
}

interface Submission {
  readonly reference: string
  readonly form: ReadonlyMap<string, string>
  readonly nowMs: number
}

async function submit(
  { secret }: SandboxSettings,
  store: SandboxStore,
  { reference, form, nowMs }: Submission,
): Promise<{ url: string } | { problem: string }> {
  const page = await store.find(pageId(reference))
  if (page === null) return { problem: 'There is no such page.' }
  if (pageState(page, nowMs).state !== 'open')
    return { problem: 'This page can no longer be used.' }
  const entry = form.get('choice') === 'cancel' ? 'cancelled' : entryOf(form, nowMs)
  if (typeof entry === 'object' && 'problem' in entry) return entry
  const isSaved = typeof entry === 'object'
  const state = isSaved ? 'saved' : entry
  const cardToken = isSaved ? `sbx_${randomBytes(18).toString('base64url')}` : ''
  if (isSaved) {
    const card = { kind: 'card', state: 'saved', madeMs: nowMs, fields: entry } as const
    await store.add(cardId(cardToken), card)
  }
  const fields = { ...page.fields, cardToken }
  if (!(await store.replace(pageId(reference), 'open', { ...page, state, fields }))) {
    return { problem: 'This page can no longer be used.' }
  }
  const url = new URL(String(page.fields['returnUrl']))
  url.searchParams.set('result', state)
  url.searchParams.set('sig', signatureOf(secret, reference, state))
  return { url: url.href }
}

type Entry = {
  readonly behaviour: SandboxBehaviour
  readonly expiresMs: number
  readonly fourDigits: string
  readonly personalId: string
}

function entryOf(
  form: ReadonlyMap<string, string>,
  nowMs: number,
): Entry | { problem: string } | 'refused' {
  const number = (form.get('number') ?? '').replaceAll(/[\s-]/g, '')
  const expiresMs = expiryOf(form.get('expiry') ?? '')
  const behaviour = behaviourOf(number)
  if (behaviour === 'unknown') return { problem: 'The card number is not one of the test cards.' }
  if (expiresMs === null) return { problem: 'The expiry must be a month and a year: MM/YY.' }
  if (expiresMs <= nowMs) return { problem: 'The card has expired.' }
  if (behaviour === null) return 'refused'
  const personalId = (form.get('personal_id') ?? '').slice(0, 32)
  return { behaviour, expiresMs, fourDigits: number.slice(-4), personalId }
}

function signatureOf(secret: string, reference: string, result: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([reference, result]))
    .digest('hex')
}

async function finish(
  { secret }: SandboxSettings,
  store: SandboxStore,
  { session, parameters }: TokenReturn,
): Promise<TokenOutcome> {
  const result = parameters.get('result') ?? ''
  const expected = Buffer.from(signatureOf(secret, session, result))
  const signature = Buffer.from(parameters.get('sig') ?? '')
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) {
    throw new ForgedReturnError('the signature of the return does not match')
  }
  const page = await store.find(pageId(session))
  if (page?.state !== 'saved') return { stage: 'rejected', code: result }
  const cardToken = String(page.fields['cardToken'])
  const card = await store.find(cardId(cardToken))
  if (card === null) return { stage: 'rejected', code: 'card_not_found' }
  return { stage: 'completed', card: savedCardOf(cardToken, card) }
}

function savedCardOf(cardToken: string, { fields }: SandboxRecord): SavedCard {
  return {
    cardToken,
    customerId: '',
    expiresMs: Number(fields['expiresMs']),
    fourDigits: String(fields['fourDigits']),
    personalId: String(fields['personalId']),
    authNumber: String(Number.parseInt(cardToken.slice(-4), 36) % 10_000_000).padStart(7, '0'),
  }
}

async function charge(
  settings: SandboxSettings,
  store: SandboxStore,
  { key, aid, amount, card, nowMs }: GatewayCharge,
): Promise<GatewayOutcome> {
  const found = await store.find(cardId(card.cardToken))
  if (found === null) throw new GatewayRefusedError('card_not_found', 'the card is not known')
  const { behaviour = 'completed' } = found.fields
  // The request of such a card never arrives.
  if (behaviour === 'lost') return unanswered(settings.timeoutMs)
  const record = { kind: 'charge', state: 'charge', madeMs: nowMs } as const
  const stored = await store.add(chargeId(key), { ...record, fields: { aid, amount, behaviour } })
  if (String(stored.fields['amount']) !== amount) {
    throw new GatewayRefusedError('idempotency_error', 'the key was used for another amount')
  }
  if (behaviour === 'slow') {
    if (settings.slowMs >= settings.timeoutMs) return unanswered(settings.timeoutMs)
    await delay(settings.slowMs)
  }
  return outcomeOf(stored, settings, nowMs)
}

async function unanswered(timeoutMs: number): Promise<never> {
  await delay(timeoutMs)
  throw new GatewayUnansweredError(`the gateway has not answered within ${timeoutMs} ms`)
}

function outcomeOf(
  { fields, madeMs, state }: SandboxRecord,
  { pendingMs }: SandboxSettings,
  nowMs: number,
): GatewayOutcome {
  const isDecided = nowMs >= madeMs + pendingMs
  // The id of a charge reveals nothing about the card.
  const reference = `${state}_${madeMs.toString(36)}`
  const completed = {
    stage: 'completed',
    reference,
    status: '000',
    code: '',
    isFinal: false,
  } as const
  const rejected = (code: string, isFinal: boolean) =>
    ({ stage: 'rejected', reference, status: 'declined', code, isFinal }) as const
  switch (fields['behaviour'] as SandboxBehaviour) {
    case 'declined':
      return rejected('insufficient_funds', false)
    case 'expired':
      return rejected('expired_card', true)
    case 'pending':
      if (isDecided) return completed
      break
    case 'pending-rejected':
      if (isDecided) return rejected('insufficient_funds', false)
      break
    default:
      return completed
  }
  return { stage: 'pending', reference, status: 'pending', code: '', isFinal: false }
}
