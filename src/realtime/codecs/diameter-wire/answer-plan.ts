/** Compiles the response tree of a file type into functions that write AVPs. */
import type { ServiceOutcome } from '../../../domain/charge-outcome.ts'
import type {
  AnswerReader,
  AnswerSource,
  AnswerTest,
  Message,
  ResponseNode,
} from '../../../file-types/file-type.ts'
import type { AnswerBytes } from './answer-bytes.ts'
import { type AvpRule, kinds, ruleByKey } from './avp-rules.ts'
import { writeValue } from './write-values.ts'

/** Writes the AVPs of a node; none if it has no value. */
export type AvpSource = (
  bytes: AnswerBytes,
  answer: AnswerSource,
  service: ServiceOutcome | null,
  entry: Message,
) => void

/** An AVP of the answer. Nodes of the same name are repetitions of one AVP. */
export interface Member {
  readonly rule: AvpRule
  readonly sources: readonly AvpSource[]
}

/**
 * In the order of the tree, as in the JSON form. Names that are not in the dictionary are left out:
 * they have no code.
 */
export function membersOf(nodes: readonly ResponseNode[]): Member[] {
  const byRule = new Map<AvpRule, AvpSource[]>()
  for (const node of nodes) {
    const rule = ruleByKey(node.name)
    if (rule === undefined) continue
    const source = sourceOf(node, rule)
    if (source === null) continue
    const sources = byRule.get(rule)
    if (sources === undefined) byRule.set(rule, [source])
    else sources.push(source)
  }
  return [...byRule].map(([rule, sources]) => ({ rule, sources }))
}

/** The sources of all members in order. */
export function sourcesOf(members: readonly Member[]): readonly AvpSource[] {
  return members.flatMap(({ sources }) => sources)
}

/** Null for a group node whose AVP is not a group: it cannot contain anything. */
function sourceOf(node: ResponseNode, rule: AvpRule): AvpSource | null {
  if (node.kind === 'value') return valueSource(node.read, rule)
  if (rule.kind !== kinds.group) return null
  const sources = sourcesOf(membersOf(node.children))
  if (node.kind === 'services') return servicesSource(sources, rule)
  const needs = needsOf(node)
  const source = groupSource(sources, rule)
  if (needs === undefined) return source
  return (bytes, answer, service, entry) => {
    if (needs(answer, service)) source(bytes, answer, service, entry)
  }
}

/** The condition shared by all nodes of a group, undefined if absent. */
function needsOf(node: ResponseNode): AnswerTest | undefined {
  if (node.kind === 'value') return node.needs
  if (node.kind === 'services') return undefined
  const [first, ...others] = node.children.map(needsOf)
  return others.every((other) => other === first) ? first : undefined
}

function valueSource(read: AnswerReader, rule: AvpRule): AvpSource {
  return (bytes, answer, service, entry) => {
    const value = read(answer, service, entry)
    if (value !== undefined) writeValue(bytes, rule, value)
  }
}

function groupSource(sources: readonly AvpSource[], rule: AvpRule): AvpSource {
  return (bytes, answer, service, entry) => {
    const start = bytes.open(rule)
    const empty = bytes.at
    for (const source of sources) source(bytes, answer, service, entry)
    if (bytes.at === empty) bytes.at = start
    else bytes.close(start)
  }
}

/** Left out if the message itself is its only service, without a list of services. */
function servicesSource(sources: readonly AvpSource[], rule: AvpRule): AvpSource {
  return (bytes, answer) => {
    const { echo, outcome } = answer
    if (echo.entries[0] === echo.message) return
    const { services } = outcome
    for (let index = 0; index < services.length; index += 1) {
      const entry = echo.entries[index] ?? echo.message
      const start = bytes.open(rule)
      for (const source of sources) source(bytes, answer, services[index] ?? null, entry)
      bytes.close(start)
    }
  }
}
