/** Clients that move money with an Idempotency-Key each, and repeat what was not answered. */

import { waitUntil } from '../../wait.ts'
import type { Fields } from '../exchange.ts'
import type { Random } from '../random.ts'

/** A call and its answer; null if it was not answered. */
export interface MoneyCall {
  readonly key: string
  readonly action: 'pay' | 'credit'
  readonly params: Fields
  /** Bills or lines that the call adds. */
  readonly records: number
  text: string | null
}

export const ACCOUNTS = [1, 2, 3, 4, 5, 6, 7, 8]
const ANSWER_MS_MAX = 60_000

/** The answer of an action as text; null if it is unknown whether money has moved. */
export async function ask(
  adminUrl: string,
  { action, params, key }: Pick<MoneyCall, 'action' | 'params' | 'key'>,
): Promise<string | null> {
  try {
    const response = await fetch(`${adminUrl}/api/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(params),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    const text = await response.text()
    return response.status === 503 ? null : text
  } catch {
    return null
  }
}

export function newCall(random: Random, key: string): MoneyCall {
  const item = () => ({
    aid: ACCOUNTS[random.below(ACCOUNTS.length)],
    amount: random.between(1, 2_000) / 100,
    note: key,
  })
  const common = { reason: key, method: 'cash' }
  const of = (more: Fields, payments: Fields[]): MoneyCall => {
    const params = { ...common, ...more, payments }
    return { key, action: 'pay', params, records: payments.length, text: null }
  }
  switch (random.below(6)) {
    case 0:
      return of({ action: 'refund' }, [item()])
    case 1:
      return of({ action: 'deposit' }, [item()])
    case 2:
      return of({ method: 'automatic' }, [item()])
    case 3:
      return of({}, [item(), item(), item()])
    case 4: {
      const sent = { aid: 17, sid: 0, rate: 'FEE', credit_time: 'now', usagev: 1, aprice: 2 }
      return { key, action: 'credit', params: { ...sent, reason: key }, records: 1, text: null }
    }
    default:
      return of({}, [item()])
  }
}

/** Sends calls until one is not answered; returns all of them. */
export async function payUntilCut(
  adminUrl: string,
  random: Random,
  name: string,
  onAnswer: () => void,
): Promise<MoneyCall[]> {
  const calls: MoneyCall[] = []
  for (;;) {
    const call = newCall(random, `${name}-${calls.length}`)
    calls.push(call)
    call.text = await ask(adminUrl, call)
    if (call.text === null) return calls
    onAnswer()
  }
}

/** Repeats a call until it is answered. */
export async function finish(adminUrl: string, call: MoneyCall): Promise<void> {
  await waitUntil(`an answer to ${call.key}`, async () => {
    call.text ??= await ask(adminUrl, call)
    return call.text !== null
  })
}
