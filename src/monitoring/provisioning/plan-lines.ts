import { LEFT_KEPT_HOURS } from '../../contracts/monitoring.ts';
import { shownTarget } from '../checks/secret-values.ts';
import type { FieldChange, Plan, PlanStep } from './plan.ts';

/** Longest value that is shown of a field. */
const MAX_SHOWN = 200;

/** Shows a plan line by line, without secrets. */
export function planLines(plan: Plan): string[] {
  const steps = plan.steps.flatMap(stepLines);
  return [...steps, ...(steps.length > 0 ? [''] : []), summaryOf(plan), ...questionLines(plan)];
}

function stepLines(step: PlanStep): string[] {
  const { key } = step;
  switch (step.kind) {
    case 'create': {
      const { definition } = step.declared;
      return [`+ ${key}: create ${definition.check_type} ${shownTarget(definition)}`];
    }
    case 'change': {
      const what = step.isAdopted ? `= ${key}: take over ${step.id}` : `~ ${key}: change`;
      const resumes = step.resumes ? ' and resume' : '';
      return [`${what}${resumes}`, ...step.changes.map(changeLine)];
    }
    case 'pause':
      return [
        `- ${key}: pause ${step.id}, which is no longer in the files, and remove it with its history after ${LEFT_KEPT_HOURS} hours`,
      ];
    case 'remove':
      return [
        `- ${key}: remove ${step.id} with its history, ${LEFT_KEPT_HOURS} hours after it left the files`,
      ];
  }
}

const changeLine = ({ field, before, after, isSecret }: FieldChange) =>
  isSecret ? `    ${field}: secret changed` : `    ${field}: ${shown(before)} → ${shown(after)}`;

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function countsOf({ steps, unchanged }: Plan) {
  const count = (isMeant: (step: PlanStep) => boolean) => steps.filter(isMeant).length;
  const isAdoption = (step: PlanStep) => step.kind === 'change' && step.isAdopted;
  return {
    create: count(({ kind }) => kind === 'create'),
    change: count((step) => step.kind === 'change' && !step.isAdopted),
    takeOver: count(isAdoption),
    pause: count(({ kind }) => kind === 'pause'),
    remove: count(({ kind }) => kind === 'remove'),
    unchanged,
  };
}

export function summaryOf(plan: Plan): string {
  const { unchanged, ...todo } = countsOf(plan);
  const parts = Object.entries(todo).map(
    ([action, count]) => `${count} to ${action === 'takeOver' ? 'take over' : action}`,
  );
  return [...parts, `${unchanged} unchanged`].join(', ');
}

/** The plan as JSON, without secrets. */
export function planData(plan: Plan) {
  const { question } = plan;
  return {
    ...countsOf(plan),
    steps: plan.steps.map(stepData),
    ...(question && { toConfirm: { leaving: question.leaving, of: question.of } }),
  };
}

function stepData(step: PlanStep) {
  const { id, key } = step;
  switch (step.kind) {
    case 'create': {
      const { definition } = step.declared;
      const { name, check_type: checkType } = definition;
      return { action: 'create', key, id, name, checkType, target: shownTarget(definition) };
    }
    case 'change': {
      const { changes, isAdopted, resumes, declared } = step;
      const action = isAdopted ? 'takeOver' : 'change';
      return { action, key, id, name: declared.definition.name, resumes, changes };
    }
    default:
      return { action: step.kind, key, id, name: step.name };
  }
}

/** Asks for the confirmation that a plan needs; empty if it needs none. */
export function questionLines({ question }: Plan): string[] {
  if (!question) return [];
  const { leaving, of } = question;
  return [
    `This would remove ${leaving} of ${of} monitors. Nothing was applied. Run askwatch monitors apply --yes to confirm, or put them back into the files.`,
  ];
}
