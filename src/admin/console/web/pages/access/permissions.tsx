/** The roles that actions need, as a matrix; a changed row is a rule in the settings. */
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { type Grant, readSession, sessionUser } from '../../api/session.ts'
import { changeSetting, conflictOf, readSetting, type Setting } from '../../api/settings.ts'
import { linkHere, location } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Changes } from '../../parts/changes.tsx'
import { Conflict } from '../../parts/conflict.tsx'
import { differences } from '../../parts/differences.ts'
import { useValidation } from '../../parts/document/validation.ts'
import type { Choice, Merge } from '../../parts/document/values.ts'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { announce } from '../../parts/live-region.tsx'
import { missingText } from '../../parts/rights.ts'
import { Problems } from '../../parts/setting-editor.tsx'
import { SideNav } from '../../parts/side-nav.tsx'
import { ReadView } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { knownRoles } from './roles.tsx'
import { decidingRule, type Edit, edited, hasOwnRule, type Rule, withEdit } from './rules.ts'

const CATEGORY = 'permissions'

/** Rules are read by admins only; others see the roles that are needed. */
export function Permissions() {
  const mayRead = missingText('settings/set') === null
  const reading = useRead('permissions', async (signal): Promise<Setting> => {
    return mayRead ? readSetting(CATEGORY, { signal }) : { value: {}, rev: 0 }
  })
  const saved = async () => {
    announce(t('access.rulesSaved'))
    // The roles of the matrix are those of the session.
    await readSession()
    reading.reload()
  }
  return (
    <ReadView reading={reading} rows={20}>
      {(setting) => <Matrix key={setting.rev} setting={setting} onSaved={saved} />}
    </ReadView>
  )
}

function rulesIn({ value }: Setting): readonly Rule[] {
  return ((value ?? {}) as { readonly rules?: readonly Rule[] }).rules ?? []
}

interface MatrixProps {
  readonly setting: Setting
  readonly onSaved: () => Promise<void>
}

interface Other {
  readonly merge: Pick<Merge, 'clashes' | 'theirs'>
  readonly author: string
  readonly edits: readonly Edit[]
}

function Matrix({ setting, onSaved }: MatrixProps) {
  const [base, setBase] = useState(setting)
  const [other, setOther] = useState<Other | null>(null)
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({})
  const form = useForm({ edits: [] as readonly Edit[] }, async ({ edits }) => {
    const data = { rules: edited(rulesIn(base), edits) }
    try {
      await changeSetting({ action: 'set', category: CATEGORY, data, rev: base.rev })
    } catch (error) {
      const conflict = await conflictOf(error, CATEGORY, base.rev)
      if (conflict === null) throw error
      const { present, author } = conflict
      setOther({ merge: mergeRules(rulesIn(base), rulesIn(present), edits), author, edits })
      setChoices({})
      setBase(present)
      throw error
    }
    await onSaved()
  })
  const { edits } = form.values.value
  const rules = edited(rulesIn(base), edits)
  const changes = differences({ rules: rulesIn(base) }, { rules })
  const trial = { action: 'set', category: CATEGORY, data: { rules } }
  const { errors } = useValidation('api/settings', changes.length === 0 ? null : trial)
  const missing = missingText('settings/set')
  const choose = ({ field }: { readonly field: string }, choice: Choice) => {
    const chosen = { ...choices, [field]: choice }
    setChoices(chosen)
    const left = other?.edits.filter((edit) => chosen[nameOf(edit)] !== 'theirs')
    form.set('edits', left ?? [])
  }
  return (
    <>
      <p>{t('access.matrixAbout')}</p>
      {missing !== null && <p id="matrix-missing">{missing}</p>}
      {(changes.length > 0 || other !== null) && (
        <Form
          form={form}
          save={t('access.saveRules')}
          action="settings/set"
          isWide
          beside={
            <button type="button" onClick={() => form.set('edits', [])}>
              {t('access.undo')}
            </button>
          }
        >
          {other !== null && <Conflict {...other} choices={choices} onChoose={choose} />}
          <Changes caption={t('access.ruleChanges')} changes={changes} />
          <Problems problems={errors} />
        </Form>
      )}
      <Actions rules={rules} onEdit={(edit) => form.set('edits', withEdit(edits, edit))} />
    </>
  )
}

const nameOf = ({ collection, action }: Omit<Edit, 'roles'>) => `${collection}/${action}`

/** A row clashes if another one has given it other roles than the edit does. */
function mergeRules(
  before: readonly Rule[],
  stored: readonly Rule[],
  edits: readonly Edit[],
): Other['merge'] {
  const rolesIn = (rules: readonly Rule[], { collection, action }: Edit) => {
    return (rules[decidingRule(rules, collection, action)]?.roles ?? []).join(', ')
  }
  const clashes = edits
    .filter((edit) => rolesIn(before, edit) !== rolesIn(stored, edit))
    .map((edit) => {
      const mine = edit.roles?.join(', ') ?? ''
      return { field: nameOf(edit), mine, theirs: rolesIn(stored, edit) }
    })
  return { clashes, theirs: differences({ rules: before }, { rules: stored }) }
}

interface ActionsProps {
  /** Empty if the user may not read them. */
  readonly rules: readonly Rule[]
  readonly onEdit: (edit: Edit) => void
}

interface Row {
  readonly collection: string
  readonly action: string
  readonly grant: Grant
  readonly roles: readonly string[]
}

function Actions({ rules, onEdit }: ActionsProps) {
  const [more, setMore] = useState<readonly string[]>([])
  const isEditor = missingText('settings/set') === null
  const all = Object.entries(sessionUser.value?.actions ?? {}).map(([name, grant]): Row => {
    const [collection = '', action = ''] = name.split('/')
    const rule = rules[decidingRule(rules, collection, action)]
    const usual = isEditor ? (grant.usual ?? grant.roles) : grant.roles
    return { collection, action, grant, roles: rule?.roles ?? usual }
  })
  const names = [...new Set(all.map(({ collection }) => collection))]
  const named = location.value.query['of'] ?? ''
  const current = names.includes(named) ? named : (names[0] ?? '')
  const roles = knownRoles([...rules.flatMap((rule) => rule.roles), ...more])
  return (
    <SideNav
      label={t('access.collections')}
      names={names}
      current={current}
      addressOf={(of) => linkHere({ of })}
    >
      <div>
        <Table
          caption={t('access.rolesOf', { collection: current })}
          hasCaption
          columns={[
            { title: t('access.action'), cell: ({ action }) => <span class="id">{action}</span> },
            ...roles.map((role) => ({
              title: role,
              cell: (row: Row) => <RoleCell row={row} role={role} onEdit={onEdit} />,
            })),
            {
              title: t('access.source'),
              cell: (row) => <Source row={row} {...{ rules, onEdit }} />,
            },
          ]}
          rows={all.filter(({ collection }) => collection === current)}
          keyOf={({ action }) => action}
        />
        <NewRole onAdd={(role) => setMore([...more, role])} />
      </div>
    </SideNav>
  )
}

interface CellProps extends ActionsProps {
  readonly row: Row
}

function RoleCell({ row, role, onEdit }: Omit<CellProps, 'rules'> & { readonly role: string }) {
  const { collection, action, grant, roles } = row
  const missing = missingText('settings/set')
  const isFixed = grant.fixed === true || role === 'admin'
  const toggle = (isOn: boolean) => {
    const others = roles.filter((each) => each !== role)
    onEdit({ collection, action, roles: isOn ? [...others, role] : others })
  }
  return (
    <input
      type="checkbox"
      checked={role === 'admin' || roles.includes(role)}
      disabled={isFixed || missing !== null}
      data-action={isFixed ? undefined : 'settings/set'}
      aria-describedby={missing === null ? undefined : 'matrix-missing'}
      aria-label={t('access.roleMay', { role, action: `${collection}/${action}` })}
      onChange={(event) => toggle(event.currentTarget.checked)}
    />
  )
}

/** Where the roles of an action come from. */
function Source({ row: { collection, action, grant }, rules, onEdit }: CellProps) {
  if (grant.fixed === true) return <>{t('access.fixed')}</>
  const at = decidingRule(rules, collection, action)
  if (at < 0) {
    const isHidden = missingText('settings/set') !== null && grant.usual !== undefined
    return <>{t(isHidden ? 'access.byRule' : 'access.usual')}</>
  }
  if (!hasOwnRule(rules, collection, action))
    return <>{t('access.sharedRule', { number: at + 1 })}</>
  return (
    <>
      {t('access.ownRule', { number: at + 1 })}{' '}
      <ActionButton
        action="settings/set"
        kind="plain"
        isBrief
        onAct={() => onEdit({ collection, action, roles: null })}
      >
        {t('access.removeRule')}
      </ActionButton>
    </>
  )
}

const ROLE = /^[a-z][a-z0-9_]{0,31}$/

function NewRole({ onAdd }: { readonly onAdd: (role: string) => void }) {
  const [role, setRole] = useState('')
  const isWrong = role !== '' && !ROLE.test(role)
  const add = (event: Event) => {
    event.preventDefault()
    if (!ROLE.test(role)) return
    onAdd(role)
    setRole('')
  }
  return (
    <form class="filter new-role" onSubmit={add}>
      <Field
        label={t('access.newRole')}
        value={role}
        onValue={setRole}
        error={isWrong ? t('access.badRole') : null}
        input={{ autocomplete: 'off', maxLength: 32 }}
      />
      <div class="buttons">
        <ActionButton action="settings/set">{t('access.addRole')}</ActionButton>
      </div>
    </form>
  )
}
