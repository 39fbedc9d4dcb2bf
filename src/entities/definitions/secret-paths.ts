/** Paths that requests must not filter, order or group by: comparisons would disclose values. */
import { entitiesIn } from '../../catalog/entities/entity-table.ts'
import { isGatewaySecret } from '../../catalog/sealing/payment-gateway.ts'
import type { CollectionDefinition } from './definition.ts'

/** Whether the value at a dotted path is hidden or sealed, or contains such values. */
export function isSecretPath(
  { hidden, store }: Pick<CollectionDefinition, 'hidden' | 'store'>,
  path: string,
): boolean {
  const hasCards = entitiesIn(store).some(({ schema }) => 'payment_gateway' in schema.properties)
  if (hasCards && isGatewaySecret(path)) return true
  return hidden.some((each) => `${path}.`.startsWith(`${each}.`) || each.startsWith(`${path}.`))
}
