/** The resolution of the smallest unit of a case. */
import type { GroupDocument, QuoteCase } from './case.ts'
import { decimalsOf } from './exact.ts'

/** 10^k, for the most decimals k of any used, stored or included amount of units. */
export function stepsPerUnitOf({ catalogue, account, ...testCase }: QuoteCase): bigint {
  const subscribers = testCase.subscribers ?? (testCase.subscriber ? [testCase.subscriber] : [])
  const overrides = [account, ...subscribers].flatMap((owner) => owner?.overrides ?? [])
  const offers = [...(catalogue.plans ?? []), ...(catalogue.services ?? [])]
  const changed = [...offers, ...overrides.map(({ value }) => value)]
  const amounts = [
    ...testCase.events.map(({ usagev }) => usagev),
    ...changed.flatMap(({ include }) => Object.values(include?.groups ?? {}).flatMap(unitsOfGroup)),
    ...subscribers
      .flatMap(({ buckets }) => buckets ?? [])
      .filter(({ pp_includes_external_id: id }) =>
        catalogue.prepaidincludes?.some(
          ({ external_id, charging_by }) => external_id === id && charging_by === 'usagev',
        ),
      )
      .map(({ value }) => value),
  ]
  return 10n ** BigInt(Math.max(0, ...amounts.map(decimalsOf)))
}

function unitsOfGroup(group: GroupDocument): number[] {
  if (group.cost !== undefined) return []
  if (group.value !== undefined) return [group.value].filter(isNumber)
  return Object.values(group).filter(isNumber)
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}
