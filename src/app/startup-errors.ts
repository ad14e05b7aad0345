import { PlatformStartError } from '../bot/shared/errors.ts';
import {
  CorruptDocumentError,
  DataFolderError,
  NewerDocumentError,
  NewerSchemaError,
  StateMovedError,
  StoreInUseError,
} from '../store/errors.ts';
import { databaseSentence } from './database-errors.ts';
import { SettingsError } from './settings.ts';

/** Explains to a person why the program can't start or continue, and what to do, without a stack trace. */
export function startupSentence(error: unknown): string {
  if (error instanceof SettingsError) {
    const lines = error.message.split('\n').map((line) => `  ${line}`);
    return ['Askwatch did not start. Change these settings (environment or .env):', ...lines].join(
      '\n',
    );
  }
  if (
    error instanceof PlatformStartError ||
    error instanceof StoreInUseError ||
    error instanceof DataFolderError ||
    error instanceof CorruptDocumentError ||
    error instanceof NewerDocumentError ||
    error instanceof NewerSchemaError ||
    error instanceof StateMovedError
  ) {
    return error.message;
  }
  const ofDatabase = databaseSentence(error);
  if (ofDatabase !== undefined) return ofDatabase;
  const { code, message = String(error) } = (error ?? {}) as { code?: string; message?: string };
  switch (code) {
    case 'EADDRINUSE':
      return 'PORT: another program already listens on this port. Stop it, or set PORT to a free one (0 picks one).';
    case 'EADDRNOTAVAIL':
      return "HOST: this machine doesn't have this address. Use 127.0.0.1, or 0.0.0.0 for all addresses.";
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `Askwatch is not allowed to use a file, folder or port that it needs: ${message}. Grant the permission, or change DATA_DIR or PORT.`;
    case 'ENOSPC':
      return 'DATA_DIR: the disk is full. Free some space, or set DATA_DIR to a folder on another disk.';
    default:
      return `Askwatch had to stop: ${message}. Set LOG_LEVEL=debug to see the details.`;
  }
}
