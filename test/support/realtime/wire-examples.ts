import { readFileSync } from 'node:fs'
import type { ChargeOutcome } from '../../../src/domain/charge-outcome.ts'

/** One example: the parts that exist of file type document, request, outcome and response. */
export interface WireExample {
  document?: string
  request?: string
  outcome?: ChargeOutcome
  response?: string
}

const START = /(?:```(?:json|text|xml|yaml)|<!--)/.source
const BLOCK = new RegExp(
  `^${START} (document|request|outcome|response)=(\\S+)\\n([^]*?)\\n(?:\`\`\`|-->)$`,
  'gm',
)

/** Fields that are absent from most outcomes are omitted in the document. */
function outcomeOf(content: string): ChargeOutcome {
  const outcome = JSON.parse(content) as ChargeOutcome
  const services = outcome.services.map((service) => ({
    ...service,
    serviceIdentifier: service.serviceIdentifier ?? '',
    parts: service.parts ?? null,
    cost: service.cost ?? 0,
    quote: service.quote ?? null,
  }))
  const balances = outcome.balances?.map((balance) => ({
    ...balance,
    counter: balance.counter ?? '',
  }))
  return { ...outcome, cost: outcome.cost ?? 0, services, balances: balances ?? null }
}

export type WireFormat = 'json' | 'keyvalue' | 'xml' | 'diameter'

const PREFIXES: ReadonlyMap<string, WireFormat> = new Map([
  ['kv', 'keyvalue'],
  ['xml', 'xml'],
  ['diameter', 'diameter'],
])

/** The message format of an example of docs/WIRE.md, by the prefix of its name. */
export function formatOfExample(name: string): WireFormat {
  return PREFIXES.get(name.split('-')[0] ?? '') ?? 'json'
}

/** The examples of docs/WIRE.md that a message format decodes. */
export function examplesOf(format: WireFormat): (readonly [string, WireExample])[] {
  return [...wireExamples()].filter(
    ([name]) => !name.startsWith('http-') && formatOfExample(name) === format,
  )
}

/** The examples of a file in docs by name. */
export function wireExamples(file = 'WIRE.md'): Map<string, WireExample> {
  const text = readFileSync(new URL(`../../../docs/${file}`, import.meta.url), 'utf8')
  const examples = new Map<string, WireExample>()
  for (const [, part = '', name = '', content = ''] of text.matchAll(BLOCK)) {
    const example = examples.get(name) ?? {}
    examples.set(name, example)
    if (part === 'outcome') example.outcome = outcomeOf(content)
    else if (part === 'request') example.request = content
    else if (part === 'document') example.document = content
    else example.response = content
  }
  return examples
}
