import { readFileSync } from 'node:fs'
import type { ChargeOutcome } from '../../src/domain/charge-outcome.ts'

/** One example of docs/WIRE.md: what is there of request, outcome and response. */
export type WireExample = { request?: string; outcome?: ChargeOutcome; response?: string }

const BLOCK = /^(?:```json|<!--) (request|outcome|response)=(\S+)\n([\s\S]*?)\n(?:```|-->)$/gm

/** What most outcomes do not have is left out in the document. */
function outcomeOf(content: string): ChargeOutcome {
  const outcome = JSON.parse(content) as ChargeOutcome
  const services = outcome.services.map((service) => ({
    ...service,
    cost: service.cost ?? 0,
    quote: service.quote ?? null,
  }))
  const balances = outcome.balances?.map((balance) => ({
    ...balance,
    counter: balance.counter ?? '',
  }))
  return { ...outcome, cost: outcome.cost ?? 0, services, balances: balances ?? null }
}

/** The examples of docs/WIRE.md by name. */
export function wireExamples(): Map<string, WireExample> {
  const text = readFileSync(new URL('../../docs/WIRE.md', import.meta.url), 'utf8')
  const examples = new Map<string, WireExample>()
  for (const [, part = '', name = '', content = ''] of text.matchAll(BLOCK)) {
    const example = examples.get(name) ?? {}
    examples.set(name, example)
    if (part === 'outcome') example.outcome = outcomeOf(content)
    else if (part === 'request') example.request = content
    else example.response = content
  }
  return examples
}
