/** A value in one field: text, number, choice, or a list of these. */
import { useState } from 'preact/hooks'
import { errorAt, type Issue } from '../../api/errors.ts'
import { leafText } from '../differences.ts'
import { Field } from '../field.tsx'
import { type Schema, takesText, type ValueKind } from './schemas.ts'
import { textOf, type ValuePath } from './values.ts'

interface ScalarProps {
  readonly kind: Exclude<ValueKind, 'record' | 'list' | 'tiers'>
  readonly schema: Schema
  readonly path: ValuePath
  readonly value: unknown
  readonly errors: readonly Issue[]
  /** Null if the document is only shown. */
  readonly onChange: ((value: unknown) => void) | null
}

const TEXT_MAX = 10_000

export function Scalar({ kind, schema, path, value, errors, onChange }: ScalarProps) {
  // As it is typed: a list that ends in a comma, or JSON that is not complete yet.
  const [typed, setTyped] = useState('')
  const isTyped = JSON.stringify(parsedAs(typed, kind, schema)) === JSON.stringify(value)
  const text = isTyped ? typed : textFor(value, kind)
  const choices = kind === 'boolean' ? ['true', 'false'] : schema.enum?.map(String)
  const change = (text: string) => {
    setTyped(text)
    onChange?.(parsedAs(text, kind, schema))
  }
  return (
    <Field
      label={String(path.at(-1))}
      value={text}
      onValue={change}
      hint={onChange === null ? undefined : schema.description}
      error={errorAt(errors, textOf(path))}
      isMultiline={kind === 'any'}
      isReadOnly={onChange === null}
      input={{ autocomplete: 'off', maxLength: TEXT_MAX }}
      {...(choices !== undefined && {
        choices: [...(text === '' ? [''] : []), ...choices].map((each) => {
          return { value: each, label: each }
        }),
      })}
    />
  )
}

function textFor(value: unknown, kind: ValueKind): string {
  if (value === undefined || value === null) return ''
  if (kind === 'any') return typeof value === 'string' ? value : JSON.stringify(value, null, 1)
  return Array.isArray(value) ? value.map(leafText).join(', ') : leafText(value)
}

const WHOLE = /^-?\d{1,15}$/

/** Text that is no value yet is kept: the API says what is wrong with it. */
function parsedAs(text: string, kind: ValueKind, schema: Schema): unknown {
  if (kind === 'boolean') return text === '' ? undefined : text === 'true'
  if (kind === 'number') return WHOLE.test(text) && !takesText(schema) ? Number(text) : text
  if (kind === 'any') return parsedOr(text)
  if (kind !== 'scalars') return text
  const { items = {} } = schema
  const itemKind = items.type === 'integer' || items.type === 'number' ? 'number' : 'text'
  const texts = text.split(',').map((each) => each.trim())
  return text.trim() === '' ? [] : texts.map((each) => parsedAs(each, itemKind, items))
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
