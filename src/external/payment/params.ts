/** Parameters that payment gateways have in common. */
import { Type } from '@sinclair/typebox'

/** Sealed values are longer than the secrets in them. */
export const secret = Type.String({ minLength: 1, maxLength: 2048, description: 'a text' })

export const timeoutSeconds = Type.Integer({
  minimum: 1,
  maximum: 120,
  default: 20,
  description: 'a whole number from 1 to 120',
})
