/** The filter of a list; it takes effect, and gets into the address, when it is sent. */
import './filter.css'
import type { InputHTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'
import { linkHere, location, navigateHere } from '../frame/routes.ts'
import { t } from '../words/words.ts'
import { Field } from './field.tsx'

export interface FilterField {
  /** The parameter of the address. */
  readonly name: string
  readonly label: string
  readonly input?: InputHTMLAttributes<HTMLInputElement>
  /** If given, a select with an 'any' option; otherwise a text input. */
  readonly choices?: readonly { readonly value: string; readonly label: string }[]
  /** In place of 'any', if the list is not of all without a choice. */
  readonly usual?: string
}

export const NUMBER_INPUT = { inputMode: 'numeric', pattern: ' *[0-9]+ *' } as const

type Values = Readonly<Record<string, string>>

interface FilterProps {
  readonly label: string
  readonly fields: readonly FilterField[]
  /** The reasons why the API cannot filter by these values, by the name of the field. */
  readonly refuse?: (values: Values) => Values
}

export function FilterForm(props: FilterProps) {
  return <Fields key={linkHere({})} {...props} />
}

function Fields({ label, fields, refuse }: FilterProps) {
  const { query } = location.value
  const valuesIn = (of: Values) => {
    return Object.fromEntries(fields.map(({ name }) => [name, of[name]?.trim() ?? '']))
  }
  const [values, setValues] = useState<Values>(valuesIn(query))
  const [errors, setErrors] = useState<Values>({})
  const apply = (all: Values) => {
    const set = Object.entries(valuesIn(all)).map(([name, value]) => [name, value || null])
    navigateHere({ ...Object.fromEntries(set), after: null })
  }
  const submit = (event: Event) => {
    event.preventDefault()
    const refused = refuse?.(valuesIn(values)) ?? {}
    setErrors(refused)
    if (Object.keys(refused).length === 0) apply(values)
  }
  return (
    <search>
      <form class="filter" onSubmit={submit} aria-label={label}>
        {fields.map(({ name, label: title, input, choices, usual = t('filter.any') }) => (
          <Field
            key={name}
            label={title}
            value={values[name] ?? ''}
            onValue={(value) => setValues({ ...values, [name]: value })}
            error={errors[name] ?? null}
            input={{ autocomplete: 'off', maxLength: 200, ...input }}
            {...(choices && { choices: [{ value: '', label: usual }, ...choices] })}
          />
        ))}
        <div class="buttons">
          <button type="submit" class="main">
            {t('filter.apply')}
          </button>
          <button type="button" onClick={() => apply({})}>
            {t('filter.all')}
          </button>
        </div>
      </form>
    </search>
  )
}
