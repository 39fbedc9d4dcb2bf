/**
 * Edits a setting, by its schema or as JSON: the API checks it while it is typed, the changes are
 * shown before they are saved, and edits of others are merged.
 */
import './setting-editor.css'
import { useState } from 'preact/hooks'
import { type Issue, Refusal } from '../api/errors.ts'
import { parseDocument } from '../api/figures.ts'
import { changeSetting, conflictOf, type Setting } from '../api/settings.ts'
import { SETTINGS } from '../words/en/settings.ts'
import { addWords, t } from '../words/words.ts'
import { Changes } from './changes.tsx'
import { differences } from './differences.ts'
import { useConflict } from './document/concurrent.tsx'
import { DocumentEditor } from './document/editor.tsx'
import { type Schema, type Schemas, withNumbers } from './document/schemas.ts'
import { useValidation } from './document/validation.ts'
import { type Document, mergeOf } from './document/values.ts'
import { Form, useForm } from './form.tsx'
import { missingText } from './rights.ts'

addWords(SETTINGS)

/** The part of the value of a category that is edited, and how it is put back. */
export interface Part {
  of(value: unknown): unknown
  /** Path and data of the change, from the present value of the category. */
  put(value: unknown, part: unknown): { readonly path: string; readonly data: unknown }
}

const WHOLE: Part = { of: (value) => value ?? {}, put: (_, data) => ({ path: '', data }) }

interface EditorProps {
  readonly category: string
  readonly setting: Setting
  readonly label: string
  /** Without it the setting is edited as JSON. */
  readonly described?: { readonly schemas: Schemas; readonly schema: Schema } | undefined
  readonly part?: Part
  readonly onSaved: () => void
}

/** A list may be a setting as well: `value` makes a document of everything. */
type Wrapped = { readonly value: unknown }

export function SettingEditor(props: EditorProps) {
  const { category, label, described } = props
  const { form, base, merging, partOf, dataOf } = useEdit(props)
  const { value, problem } = form.values.value
  const mayChange = missingText('settings/set') === null
  const changes = differences(partOf(base), { value })
  const isChecked = changes.length > 0 && problem === null && mayChange
  const trial = isChecked ? { action: 'set', category, ...dataOf(value) } : null
  const validation = useValidation('api/settings', trial)
  const problems =
    problem === null
      ? errorsOf(validation, category)
      : [{ path: '', code: 'invalid', why: problem } as const]
  const set = (next: unknown) => form.set('value', next)
  return (
    <div class="setting-editor">
      <Form form={form} save={t('settings.save')} action="settings/set" isWide>
        {merging.conflict({ value }, (merged) => set(merged['value']), withoutWrap)}
        {described === undefined ? (
          <JsonField
            key={JSON.stringify([base.rev, merging.choices])}
            label={label}
            value={value}
            isInvalid={problems.length > 0}
            onValue={set}
            onProblem={(next) => form.set('problem', next)}
          />
        ) : (
          <DocumentEditor
            {...described}
            document={value as Document}
            onChange={mayChange ? set : undefined}
            errors={problems}
          />
        )}
        <Problems problems={problems} />
        {changes.length > 0 && (
          <Changes
            caption={t('settings.changes')}
            changes={changes.map((each) => ({ ...each, field: withoutWrap(each.field) }))}
          />
        )}
      </Form>
    </div>
  )
}

/** The edited value, and its merge with what was saved meanwhile. */
function useEdit({ category, setting, described, part = WHOLE, onSaved }: EditorProps) {
  const [base, setBase] = useState(setting)
  const merging = useConflict()
  const partOf = (of: Setting): Wrapped => ({ value: part.of(of.value) })
  const dataOf = (value: unknown) => {
    const data = described ? withNumbers(described.schemas, described.schema, value) : value
    return part.put(base.value, data)
  }
  const initial = { ...partOf(setting), problem: null as string | null }
  const form = useForm(initial, async ({ value, problem }) => {
    if (problem !== null) throw new Refusal('refused', 0, problem)
    try {
      await changeSetting({ action: 'set', category, rev: base.rev, ...dataOf(value) })
    } catch (error) {
      const conflict = await conflictOf(error, category)
      if (conflict === null) throw error
      const stored = partOf(conflict.present)
      const merge = mergeOf(partOf(base), { value }, stored)
      merging.setOther({ merge, mine: { value }, stored, author: conflict.author })
      setBase(conflict.present)
      form.set('value', merge.merged['value'])
      throw error
    }
    onSaved()
  })
  return { form, base, merging, partOf, dataOf }
}

function withoutWrap(field: string): string {
  return field.replace(/^value\.?/, '')
}

/** Messages of the API by path in the category. */
function errorsOf(
  { errors, refusal }: ReturnType<typeof useValidation>,
  category: string,
): readonly Issue[] {
  if (refusal !== null) return [{ path: '', code: 'refused', why: refusal.text }]
  return errors.map((each) => {
    const isWhole = !each.path.startsWith(`${category}.`)
    return isWhole ? each : { ...each, path: each.path.slice(category.length + 1) }
  })
}

export function Problems({ problems }: { readonly problems: readonly Issue[] }) {
  return (
    <ul id="setting-problems" class="problems">
      {problems.map(({ path, why }) => (
        <li key={path}>
          <span class="id">{path}</span> {why}
        </li>
      ))}
    </ul>
  )
}

interface JsonProps {
  readonly label: string
  readonly value: unknown
  readonly isInvalid: boolean
  readonly onValue: (value: unknown) => void
  /** With null when the text is JSON again. */
  readonly onProblem: (problem: string | null) => void
}

const ROWS_MAX = 32

function JsonField({ label, value, isInvalid, onValue, onProblem }: JsonProps) {
  const [text, setText] = useState(() => documentText(value))
  const change = (typed: string) => {
    setText(typed)
    try {
      const { value: next, inexact } = parseDocument(typed)
      onProblem(inexact === null ? null : t('settings.inexact', { number: inexact }))
      onValue(next)
    } catch (error) {
      onProblem(t('settings.noJson', { reason: String(error) }))
    }
  }
  return (
    <textarea
      class="id"
      aria-label={label}
      aria-invalid={isInvalid}
      aria-describedby="setting-problems"
      spellcheck={false}
      readOnly={missingText('settings/set') !== null}
      rows={Math.min(ROWS_MAX, text.split('\n').length + 1)}
      value={text}
      onInput={(event) => change(event.currentTarget.value)}
    />
  )
}

export function documentText(value: unknown): string {
  return JSON.stringify(value ?? {}, null, 2)
}
