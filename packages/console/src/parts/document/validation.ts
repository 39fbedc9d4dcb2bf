/** Messages of the API about a write that is typed: it is tried, and nothing is stored. */
import { useEffect, useState } from 'preact/hooks'
import { answerOf } from '../../api/client.ts'
import { type Issue, Refusal } from '../../api/errors.ts'

export interface Validation {
  readonly errors: readonly Issue[]
  /** About the write as a whole; null if nothing is wrong with it. */
  readonly refusal: Refusal | null
  readonly warnings: readonly string[]
}

const VALID: Validation = { errors: [], refusal: null, warnings: [] }
/** Typing is not followed key by key. */
const ASK_AFTER_MS = 250

/** With null for `body` nothing is asked. Messages stay until the next answer. */
export function useValidation(path: string, body: object | null): Validation {
  const [validation, setValidation] = useState(VALID)
  const text = body === null ? null : JSON.stringify({ ...body, validate: true })
  useEffect(() => {
    if (text === null) {
      setValidation(VALID)
      return
    }
    const controller = new AbortController()
    const timer = setTimeout(() => {
      const options = { signal: controller.signal, mayRepeat: true }
      answerOf(path as 'billapi/rates/update', JSON.parse(text), options).then(
        (answer) => {
          const { warnings = [] } = answer as { readonly warnings?: readonly string[] }
          setValidation({ ...VALID, warnings })
        },
        (error: unknown) => {
          if (!(error instanceof Refusal)) return
          const isOfFields = error.fields.length > 0
          setValidation({ ...VALID, errors: error.fields, refusal: isOfFields ? null : error })
        },
      )
    }, ASK_AFTER_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [path, text])
  return validation
}
